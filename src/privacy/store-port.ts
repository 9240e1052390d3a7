import type { NewEvent } from '../delivery/index.ts'
import type { ArchiveErasure, NewRegulation, Regulation } from './regulation.ts'

/** A regulation to store. */
export interface CreateRegulationRequest {
  readonly regulation: NewRegulation
  /** Its notifications: one event per user and source, of type `delete`, with their deliveries. */
  readonly notifications: readonly NewEvent[]
  readonly nowMs: number
}

/** A request for one step of an erasure. */
export interface EraseRequest {
  readonly id: string
  readonly nowMs: number
  /** The maximum number of rows to look at, so that other work waits only briefly. */
  readonly rowsMax: number
  /** If true, returns `traces` instead of rewriting files, so that one rewrite serves several regulations. */
  readonly leavesTraces?: boolean | undefined
}

/** The result if the store's files can't be rewritten now, for example on a full disk. Try again much later. */
export interface HeldUpErasure {
  readonly kind: 'held_up'
  /** What failed, and why. */
  readonly reason: string
  /** What an operator can do about it. */
  readonly hint: string
}

/**
 * The work that is left of an erasure.
 *
 * - `more`: there are more rows
 * - `waiting`: only leased deliveries and pending notifications are left. Try again later
 * - `traces`: only traces in files are left, because `leavesTraces` was set
 * - `nothing`: the erasure is complete, or there is no such regulation
 */
export type EraseResult = 'more' | 'waiting' | 'traces' | 'nothing' | HeldUpErasure

/** A report of what was erased from archives. */
export interface NoteArchiveRequest {
  readonly id: string
  /** What was erased. Reports from several processes add up. */
  readonly archive: ArchiveErasure
  /** The ids of the erased archives that are registered in {@link SharedRegulations}; none by default. */
  readonly archiveIds?: readonly string[] | undefined
}

/** A request to mark a regulation as finished. */
export interface FinishRequest {
  readonly id: string
  readonly nowMs: number
}

/** A request for a page of regulations. */
export interface RegulationsRequest {
  readonly limit: number
  /** Only regulations older than this one, the last of the previous page. */
  readonly beforeId?: string | undefined
  readonly unfinished?: boolean | undefined
}

/** Reads regulations. */
export interface RegulationReader {
  /** Returns a regulation; undefined if there is none. */
  find(request: { readonly id: string }): Promise<Regulation | undefined>
  /** Lists regulations, newest first. */
  list(request: RegulationsRequest): Promise<readonly Regulation[]>
}

/**
 * Keeps deletion requests and suppressed users. The rules of the DeliveryStore port apply.
 *
 * `add` of the DeliveryStore drops the calls of suppressed users, with the outcome `suppressed`. A call is dropped if
 * its userId, or the previousId of an alias, is suppressed for its source or for all sources. The source of a replay,
 * `<source>/<anything>`, counts as `<source>`. Events of type `delete` are never suppressed.
 */
export interface RegulationStore extends RegulationReader {
  /**
   * Stores a regulation, its notifications with their deliveries, and its suppressions, all or nothing.
   * `UNSUPPRESS` for all sources lifts every suppression of the users. For some sources, it lifts the
   * suppressions of those sources; a suppression for all sources stays.
   */
  create(request: CreateRegulationRequest): Promise<void>
  /**
   * Takes one step in erasing the events of a regulation's users (userId, or previousId of an alias). Only
   * events of its sources that were accepted before it are erased.
   *
   * - A pending delivery becomes `failed` with the reason `erased`. A leased delivery is left until its lease
   *   ends, because a request in flight can't be taken back.
   * - A delivery loses its body, its userId, the endpoints' answers, and its messageId if that contains the
   *   userId. The rest stays, so that the ledger balances.
   * - The users leave the audiences of its sources, without calls to destinations.
   * - The regulation's own notifications are erased once they are delivered.
   *
   * {@link Regulation.erased} counts what was erased, except notifications. Erased deliveries can't be retried
   * manually. If an engine keeps files, no trace of the users is left in them, except for the regulation
   * itself, suppressions, and notifications that are not delivered.
   */
  erase(request: EraseRequest): Promise<EraseResult>
  /** Adds to the counts of what was erased from archives. */
  noteArchive(request: NoteArchiveRequest): Promise<void>
  /**
   * Marks a regulation as finished. The counts of its notifications stay, even if these are purged later.
   * Returns false and doesn't finish it if it has ended, waits for an archive, or has a pending notification,
   * such as one that was just retried manually.
   */
  finish(request: FinishRequest): Promise<boolean>
}

/** An archive of a process that shares the store. Only that process can reach it. */
export interface KeptArchive {
  /** Stays the same when the archive moves or its process restarts. */
  readonly id: string
  /** Its location, for people. */
  readonly name: string
}

/** The work that is left of a regulation for a process that shares the store. */
export interface UnfinishedRegulation {
  readonly id: string
  /** Whether an archive of that process still has to be erased. */
  readonly isArchiveLeft: boolean
  /** Whether other work is left: erasing from the store, waiting for notifications, or finishing the regulation. */
  readonly isDue: boolean
}

/**
 * Lets processes that share a store carry out regulations together. Engines that several processes can use
 * implement this port in addition to {@link RegulationStore}. The rules of the DeliveryStore port apply.
 *
 * A regulation that erases archives can finish only once all registered archives are erased. Until then,
 * `finish` does nothing. The process that has an archive reports its erasure with `noteArchive`.
 */
export interface SharedRegulations {
  /** Registers archives, or updates their names. They stay registered when their process ends. */
  register(request: { readonly archives: readonly KeptArchive[] }): Promise<void>
  /** Lists the unfinished regulations for the process that has these archives, oldest first. */
  unfinished(request: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]>
  /** Removes a lost archive from all regulations, which record a problem; false if the name is not registered. */
  release(request: { readonly name: string }): Promise<boolean>
}
