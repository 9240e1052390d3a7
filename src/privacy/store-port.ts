import type { NewEvent } from '../delivery/index.ts'
import type { ArchiveErasure, NewRegulation, Regulation } from './regulation.ts'

/** A regulation to store. */
export interface CreateRegulationRequest {
  /** The regulation. */
  readonly regulation: NewRegulation
  /** Its notifications: one event per user and source, of type `delete`, with their deliveries. */
  readonly notifications: readonly NewEvent[]
  /** The moment it is stored, in milliseconds since 1970. */
  readonly nowMs: number
}

/** A step of an erasure. */
export interface EraseRequest {
  /** The regulation. */
  readonly id: string
  /** The moment of the step, in milliseconds since 1970. */
  readonly nowMs: number
  /** The maximum number of rows to look at, so that other work waits only briefly. */
  readonly rowsMax: number
  /**
   * Whether to return `traces` instead of rewriting files, so that one rewrite serves several regulations;
   * false by default.
   */
  readonly leavesTraces?: boolean | undefined
}

/**
 * The result of an erasure whose files cannot be rewritten now, such as on a full disk. Ask again much later.
 */
export interface HeldUpErasure {
  readonly kind: 'held_up'
  /** What failed, and why. */
  readonly reason: string
  /** What to do about it. */
  readonly hint: string
}

/**
 * The work that is left of an erasure.
 *
 * - `more`: there are more rows
 * - `waiting`: only leased deliveries and pending notifications are left. Ask again later
 * - `traces`: only traces in files are left, because of `leavesTraces`
 * - `nothing`: it is complete, or there is no such regulation
 */
export type EraseResult = 'more' | 'waiting' | 'traces' | 'nothing' | HeldUpErasure

/** Counts of what was erased from archives. */
export interface NoteArchiveRequest {
  /** The regulation. */
  readonly id: string
  /** What was erased. Counts of several processes add up. */
  readonly archive: ArchiveErasure
  /** The archives of {@link SharedRegulations} that are erased; none by default. */
  readonly archiveIds?: readonly string[] | undefined
}

/** A page of regulations. */
export interface RegulationsRequest {
  /** The maximum number of regulations to return. */
  readonly limit: number
  /** Only regulations older than this one, the last of the previous page. */
  readonly beforeId?: string | undefined
  /** Only unfinished regulations. */
  readonly unfinished?: boolean | undefined
}

/** Reads regulations, in the process that carries them out or in another. */
export interface RegulationReader {
  /** Returns a regulation; undefined if there is none. */
  find(request: { readonly id: string }): Promise<Regulation | undefined>
  /** Lists regulations, newest first. */
  list(request: RegulationsRequest): Promise<readonly Regulation[]>
}

/**
 * Keeps deletion requests and suppressed users: the port that the privacy room owns and every engine
 * implements. The rules of the DeliveryStore port hold.
 *
 * `add` of the DeliveryStore drops the calls of suppressed users, with the outcome `suppressed`. A call is
 * dropped if its userId, or the previousId of an alias, is suppressed for its source or for all sources. A
 * replay with the source `<source>/<anything>` counts as that source. Events of type `delete` are never
 * suppressed.
 */
export interface RegulationStore extends RegulationReader {
  /**
   * Stores a regulation, its notifications with their deliveries, and its suppressions, all or nothing.
   * `UNSUPPRESS` of all sources lifts every suppression of the users. `UNSUPPRESS` of some sources lifts the
   * suppressions of these; suppressions of all sources stay.
   */
  create(request: CreateRegulationRequest): Promise<void>
  /**
   * Takes a step in erasing events of a regulation's users (userId, or previousId of an alias). The events
   * are of its sources and were accepted before it.
   *
   * - A pending delivery becomes `failed` with the reason `erased`. A leased one is left until its lease
   *   ends, because a request in flight cannot be taken back.
   * - A delivery loses its body, its userId, the answers of endpoints, and its messageId if that contains the
   *   userId. The rest stays, so that the ledger balances.
   * - The users leave the audiences of its sources, without calls to destinations.
   * - Its own notifications are erased after they are delivered.
   *
   * {@link Regulation.erased} counts what was erased, except notifications. Erased deliveries cannot be
   * retried by hand. An engine that keeps files leaves no trace of the users in them, except for the
   * regulation itself, suppressions, and notifications that are not delivered.
   */
  erase(request: EraseRequest): Promise<EraseResult>
  /** Adds counts of what was erased from archives. */
  noteArchive(request: NoteArchiveRequest): Promise<void>
  /**
   * Ends a regulation. Keeps the states of its notifications at that moment, even if these are purged later.
   */
  finish(request: { readonly id: string; readonly nowMs: number }): Promise<void>
}

/** An archive of one of the processes that share a store. Only that process can reach it. */
export interface KeptArchive {
  /** Its identifier, which stays when it moves and when its process restarts. */
  readonly id: string
  /** Its name for people: its location. */
  readonly name: string
}

/** The work that is left of a regulation for one of the processes that share a store. */
export interface UnfinishedRegulation {
  /** The regulation. */
  readonly id: string
  /** Whether an archive of that process is not erased yet. */
  readonly isArchiveLeft: boolean
  /** Whether other work is left: in the store, for notifications, or to finish the regulation. */
  readonly isDue: boolean
}

/**
 * Lets processes that share a store carry out regulations together. Engines that several processes can use
 * implement this port beside {@link RegulationStore}. The rules of the DeliveryStore port hold.
 *
 * A regulation that erases archives waits for every archive that is registered before it finishes: `finish`
 * does nothing while one is left. The process of an archive reports with `noteArchive` that it is erased.
 */
export interface SharedRegulations {
  /** Registers archives, or updates their names. They stay registered when their process ends. */
  register(request: { readonly archives: readonly KeptArchive[] }): Promise<void>
  /** Lists the unfinished regulations for the process that has these archives, oldest first. */
  unfinished(request: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]>
  /**
   * Removes a lost archive. Regulations no longer wait for it. Each regulation that waited records a problem.
   *
   * @returns whether an archive with that name was registered
   */
  release(request: { readonly name: string }): Promise<boolean>
}
