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
  /** Maximum number of rows to check, so that other work waits only briefly. */
  readonly rowsMax: number
  /**
   * Whether to return `traces` instead of rewriting the files that still contain erased data, so that one rewrite can
   * serve many regulations; false by default.
   */
  readonly leavesTraces?: boolean | undefined
}

/** Says that the store's files can't be rewritten now, for example on a full disk. Try again much later. */
export interface HeldUpErasure {
  readonly kind: 'held_up'
  readonly reason: string
  readonly hint: string
}

/**
 * What is left of an erasure.
 *
 * - `more`: there are more rows
 * - `waiting`: the rest waits for leased deliveries or pending notifications. Try again later
 * - `traces`: traces in files are left, because `leavesTraces` was set
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
  /** Only regulations older than this one: the last on the previous page. */
  readonly beforeId?: string | undefined
  readonly unfinished?: boolean | undefined
}

/** The part of {@link RegulationStore} that only reads. */
export interface RegulationReader {
  /** Returns a regulation; undefined if there is none. */
  find(request: { readonly id: string }): Promise<Regulation | undefined>
  /** Lists regulations, newest first. */
  list(request: RegulationsRequest): Promise<readonly Regulation[]>
}

/**
 * Keeps deletion requests and suppressed users. The rules of the DeliveryStore port apply.
 *
 * `DeliveryStore.add` drops the calls of suppressed users, with the outcome `suppressed`. A user is suppressed for some
 * sources or for all. An alias is dropped if its userId or its previousId is suppressed. The source of a replay,
 * `<source>/<anything>`, counts as `<source>`. Events of type `delete` are never suppressed.
 */
export interface RegulationStore extends RegulationReader {
  /**
   * Stores a regulation, its notifications with their deliveries, and its suppressions, all or nothing.
   *
   * `UNSUPPRESS` for all sources lifts every suppression of the users. `UNSUPPRESS` for some sources lifts only the
   * suppressions for exactly these sources, not a suppression for all sources.
   */
  create(request: CreateRegulationRequest): Promise<void>
  /**
   * Takes one step in erasing a regulation's users from the store. The erased events are from the regulation's sources,
   * were accepted before the regulation, and have one of the users as userId (or as previousId, in an alias).
   *
   * - Pending deliveries become `failed` with the reason `erased`. Leased deliveries do so after their lease ends,
   *   because a request in flight can't be recalled.
   * - Deliveries lose their body, userId, previousId, trace context and the endpoints' answers. A messageId that
   *   contains the userId or previousId is replaced. Everything else stays, so that the ledger balances.
   * - The users leave the audiences of the regulation's sources, without calls to destinations.
   * - The regulation's own notifications are erased once they are delivered.
   *
   * {@link Regulation.erased} counts what was erased, except notifications. Erased deliveries can't be retried
   * manually. If an engine keeps files, the erasure also removes all traces of the users from the files. Only the
   * regulation itself, suppressions and undelivered notifications still name the users.
   */
  erase(request: EraseRequest): Promise<EraseResult>
  /** Adds what this process erased from an archive to the reports of other processes. */
  noteArchive(request: NoteArchiveRequest): Promise<void>
  /**
   * Marks a regulation as finished. Stores the counts of its notifications, so that a later purge doesn't change them.
   * Returns false if the regulation is already finished, waits for an archive, or has a notification to deliver or
   * erase, for example after a manual retry.
   */
  finish(request: FinishRequest): Promise<boolean>
}

/** An archive of one process. The other processes that share the store can't reach it. */
export interface KeptArchive {
  /** Stays the same when the archive moves or its process restarts. */
  readonly id: string
  /** Its location, for people. */
  readonly name: string
}

/** What a process that shares the store still has to do for a regulation. */
export interface UnfinishedRegulation {
  readonly id: string
  /** Whether one of the process's archives must still be erased. */
  readonly isArchiveLeft: boolean
  /** Whether other work is left: erasing from the store, waiting for notifications, or finishing the regulation. */
  readonly isDue: boolean
}

/**
 * Lets processes that share a store carry out regulations together. Engines that several processes can use implement
 * this port and {@link RegulationStore}. The rules of the DeliveryStore port apply.
 *
 * A regulation that erases archives can finish only once all registered archives are erased. Each process erases its
 * own archives, and reports that with `RegulationStore.noteArchive`.
 */
export interface SharedRegulations {
  /** Registers archives, or updates their names. They stay registered when their process ends. */
  register(request: { readonly archives: readonly KeptArchive[] }): Promise<void>
  /** Lists the unfinished regulations, oldest first. `archiveIds` are the archives of the calling process. */
  unfinished(request: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]>
  /** Gives up a lost archive: regulations stop waiting, and record a problem. Returns false for an unknown name. */
  release(request: { readonly name: string }): Promise<boolean>
}
