import type { NewEvent } from '../delivery/index.ts'
import type { ArchiveErasure, NewRegulation, Regulation } from './regulation.ts'

/** A regulation to be stored, with what it causes at once. */
export interface CreateRegulationRequest {
  /** The regulation. */
  readonly regulation: NewRegulation
  /** Its notifications: one event per user and source, of type `delete`, with their deliveries. */
  readonly notifications: readonly NewEvent[]
  /** When it is stored, in milliseconds since 1970. */
  readonly nowMs: number
}

/** Asks to erase some of what a regulation wants erased. */
export interface EraseRequest {
  /** The regulation. */
  readonly id: string
  /** When it is erased, in milliseconds since 1970. */
  readonly nowMs: number
  /** At the most so many rows are looked at, so that nobody waits long for it. */
  readonly rowsMax: number
  /**
   * Files that an engine rewrites once all is erased are left as they are for now, and `traces` is
   * answered: rewriting them once does for several regulations. False by default.
   */
  readonly leavesTraces?: boolean | undefined
}

/** Files that an erasure has to rewrite cannot be for now, such as without room: ask again much later. */
export interface HeldUpErasure {
  readonly kind: 'held_up'
  /** What could not be done, and why. */
  readonly reason: string
  /** What to do about it. */
  readonly hint: string
}

/**
 * What is left to be erased.
 *
 * - `more`: there is more to look at
 * - `waiting`: what is left is being sent, or a notification that is not delivered yet: ask again later
 * - `traces`: only traces in files, which were to be left
 * - `nothing`: all of it is done, or there is no such regulation
 */
export type EraseResult = 'more' | 'waiting' | 'traces' | 'nothing' | HeldUpErasure

/** What of archives was erased. */
export interface NoteArchiveRequest {
  /** The regulation. */
  readonly id: string
  /** What was erased. Where several processes have archives it adds to what they noted. */
  readonly archive: ArchiveErasure
  /** The archives of {@link SharedRegulations} that nothing is left in; none by default. */
  readonly archiveIds?: readonly string[] | undefined
}

/** A page of regulations. */
export interface RegulationsRequest {
  /** At the most so many. */
  readonly limit: number
  /** Only those that are older than this one: the last of the page before. */
  readonly beforeId?: string | undefined
  /** Only those that are not finished. */
  readonly unfinished?: boolean | undefined
}

/** What is known of regulations: for whoever asks, in the process that carries them out or beside it. */
export interface RegulationReader {
  /** One regulation; undefined when there is none. */
  find(request: { readonly id: string }): Promise<Regulation | undefined>
  /** Regulations, the newest first. */
  list(request: RegulationsRequest): Promise<readonly Regulation[]>
}

/**
 * Where deletion requests are kept, and whose calls are suppressed: the port that the privacy room owns
 * and every engine implements, beside the deliveries that they cause. The rules of the DeliveryStore
 * port hold.
 *
 * The calls of suppressed users are dropped by `add` of the DeliveryStore, with the outcome
 * `suppressed`: those whose userId, or whose previousId on alias, is suppressed for the source, or for
 * all. A replay, whose source is `<source>/<anything>`, is of that source. Events of type `delete` are
 * never suppressed.
 */
export interface RegulationStore extends RegulationReader {
  /**
   * Stores a regulation, its notifications and their deliveries, and whose calls are suppressed from
   * now on, all or nothing. `UNSUPPRESS` of all sources lifts everything; of some sources what was
   * suppressed for those, while what was suppressed for all sources stays so.
   */
  create(request: CreateRegulationRequest): Promise<void>
  /**
   * Erases a part of what a regulation wants erased: of the events of its sources that were accepted
   * before it and are about its users (userId, or previousId on alias).
   *
   * - A delivery that waits becomes `failed` with the reason `erased`. One that is given out is left
   *   alone until it has come back or to its end: what is being sent cannot be taken back.
   * - Of each delivery go the text, the userId, the answers of endpoints, and the messageId where it
   *   contains the userId. The rest stays, so that the books go on to balance.
   * - Members of audiences of its sources who are its users go, and nobody is told.
   * - Its own notifications are left alone until they are delivered; then they are erased as well.
   *
   * What was erased is counted in {@link Regulation.erased}, notifications aside. Erased deliveries
   * cannot be retried by hand. An engine that keeps files leaves no trace of the users in them, apart
   * from the regulation itself, what is suppressed, and notifications that are not delivered.
   */
  erase(request: EraseRequest): Promise<EraseResult>
  /** Notes what of archives was erased. */
  noteArchive(request: NoteArchiveRequest): Promise<void>
  /** Ends a regulation: how its notifications stand then is kept, also when they are purged. */
  finish(request: { readonly id: string; readonly nowMs: number }): Promise<void>
}

/** An archive beside a store that several processes share: nobody but its own process reaches it. */
export interface KeptArchive {
  /** Identifies it, wherever it is and however often its process is started. */
  readonly id: string
  /** How people know it: where it is. */
  readonly name: string
}

/** What is left of a regulation, for one of the processes that share a store. */
export interface UnfinishedRegulation {
  /** The regulation. */
  readonly id: string
  /** Whether an archive of that process may have what it wants erased. */
  readonly isArchiveLeft: boolean
  /** Whether something else is left than archives: in the store, notifications, or only to end it. */
  readonly isDue: boolean
}

/**
 * What processes that share a store have to know of each other to carry regulations out together: the
 * port that engines implement beside {@link RegulationStore} where several processes can use one store.
 * The rules of the DeliveryStore port hold.
 *
 * A regulation that erases archives waits for all that were registered when it was stored, and for those
 * that are registered before it is finished: `finish` does nothing while one of them is left. Whoever
 * has one says with `noteArchive` that nothing is left in it.
 */
export interface SharedRegulations {
  /** Registers archives, or how people know them now. They stay so when their process ends. */
  register(request: { readonly archives: readonly KeptArchive[] }): Promise<void>
  /** What is not finished, the oldest first, for the process that has these archives. */
  unfinished(request: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]>
  /**
   * Lets go of an archive that is gone for good: nobody waits for it any more. What is not finished and
   * waited for it has one problem more.
   *
   * @returns whether one with that name was registered
   */
  release(request: { readonly name: string }): Promise<boolean>
}
