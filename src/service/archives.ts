import { existsSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  Archive,
  archiveIdIn,
  archiveIdOf,
  cannotWrite,
  isAboutUsers,
  type Append,
  type ErasedFromArchive,
} from '../archive/index.ts'
import type { IntakeResult } from '../intake/index.ts'
import { EvrouteError, formatDuration, type AnalyticsEvent } from '../model/index.ts'
import type { KeptArchive } from '../privacy/index.ts'
import { stoppable, systemClock, type Clock } from '../runtime/index.ts'
import { FileLock } from '../store/index.ts'
import type { ConfiguredSource } from './configuration/index.ts'

/** Maximum time of a write: a disk that hangs must not delay answers for longer. */
const waitMs = 5_000

interface ErasureRequest {
  readonly sources: readonly Pick<ConfiguredSource, 'id' | 'archive'>[]
  /** Erases an event if one of these users is its userId or, in an alias, its previousId. */
  readonly userIds: readonly string[]
  /** Erases only events that were accepted up to this time, in milliseconds since 1970. */
  readonly untilMs: number
  readonly signal: AbortSignal
}

/**
 * The archives of a service, one per folder. Several sources can share a folder. Two processes can't: the rewriting of
 * a file would lose events that the other one is writing.
 */
export class Archives {
  readonly #startedAtMs: number
  readonly #clock: Clock
  readonly #write: Append | undefined
  readonly #archives = new Map<string, Promise<Archive>>()
  readonly #locks: FileLock[] = []
  /** Writes in progress, by the controller that aborts them. */
  readonly #keeping = new Map<AbortController, Promise<void>>()
  #endsAtMs = Infinity

  /** @param startedAtMs - when this run started. File names begin with it, so that runs don't share files */
  constructor(
    startedAtMs: number,
    parts: { readonly clock?: Clock; readonly append?: Append } = {},
  ) {
    this.#startedAtMs = startedAtMs
    this.#clock = parts.clock ?? systemClock
    this.#write = parts.append
  }

  /**
   * Creates and locks the folders of these sources. Later ones are locked at their first use. Throws
   * `cannot_write_file`, for example if another process is using a folder.
   */
  async open(sources: ErasureRequest['sources']): Promise<void> {
    for (const { archive } of sources) if (archive !== undefined) await this.#at(archive.directory)
  }

  /**
   * Archives the accepted events, except suppressed ones. Includes duplicates: an earlier run may have stored the
   * original, but ended before archiving it. Throws `cannot_write_file` if the write fails or takes more than 5 s.
   */
  async keep(
    source: ConfiguredSource | undefined,
    results: readonly IntakeResult[],
  ): Promise<void> {
    const directory = source?.archive?.directory
    if (directory === undefined) return
    const events: AnalyticsEvent[] = []
    for (const result of results) {
      if (result.kind === 'accepted' && result.outcome !== 'suppressed') events.push(result.event)
    }
    const giveUp = new AbortController()
    const remainingMs = Math.min(waitMs, this.#endsAtMs - this.#clock.nowMs())
    const timer = this.#clock.schedule(remainingMs, () => giveUp.abort(tooSlow(directory)))
    const keeping = this.#append(directory, events, giveUp.signal)
    this.#keeping.set(giveUp, keeping)
    try {
      await keeping
    } finally {
      timer.cancel()
      this.#keeping.delete(giveUp)
    }
  }

  /** Aborts writes after `graceMs`, including writes that begin after this call. Resolves once current writes end. */
  async close(graceMs: number): Promise<void> {
    this.#endsAtMs = this.#clock.nowMs() + graceMs
    const timer = this.#clock.schedule(graceMs, () => {
      for (const giveUp of this.#keeping.keys()) giveUp.abort(notInTime())
    })
    await Promise.allSettled(this.#keeping.values())
    timer.cancel()
  }

  /** Unlocks the folders. Call it once all writes and erasures have ended. */
  release(): void {
    this.#archives.clear()
    for (const lock of this.#locks.splice(0)) lock.release()
  }

  /**
   * Erases events of users from all files in the archives of these sources. Before you call it, wait until all stored
   * events are archived. Run one erasure at a time. Throws the signal's reason once it aborts.
   */
  async erase({ sources, userIds, untilMs, signal }: ErasureRequest): Promise<ErasedFromArchive> {
    const isErased = isAboutUsers(userIds, untilMs)
    let erased: ErasedFromArchive = { events: 0, files: 0, problems: [] }
    for (const { id: sourceId, archive } of sources) {
      if (archive === undefined || !existsSync(archive.directory)) continue
      const opened = await this.#at(archive.directory)
      const { events, files, problems } = await opened.erase({ sourceId, isErased, signal })
      erased = {
        events: erased.events + events,
        files: erased.files + files,
        problems: [...erased.problems, ...problems],
      }
    }
    return erased
  }

  async #append(
    directory: string,
    events: readonly AnalyticsEvent[],
    signal: AbortSignal,
  ): Promise<void> {
    // An abort ends the wait even if the disk hangs.
    const archive = await stoppable(this.#at(directory), signal)
    signal.throwIfAborted()
    await archive?.append(events, signal)
  }

  #at(directory: string): Promise<Archive> {
    const known = this.#archives.get(directory)
    if (known !== undefined) return known
    const archive = this.#open(directory)
    this.#archives.set(directory, archive)
    archive.catch(() => this.#archives.delete(directory))
    return archive
  }

  async #open(directory: string): Promise<Archive> {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      // Sources can name the same folder by different links.
      const path = await realpath(directory)
      if (path !== directory) return await this.#at(path)
      this.#locks.push(await lockFolder(directory))
      return new Archive(directory, this.#startedAtMs, this.#write)
    } catch (error) {
      throw error instanceof EvrouteError ? error : cannotWrite(directory, error)
    }
  }
}

function lockFolder(directory: string): Promise<FileLock> {
  return FileLock.take(join(directory, '.evroute-archive-lock'), {
    code: 'cannot_write_file',
    message: `Cannot write the archive ${directory}: another process is using it`,
    hint: 'Stop that process, or give each process a folder of its own.',
  })
}

/**
 * Returns the id and name of each archive, for its registration in a shared store. Without `newId`, leaves out
 * archives that have no id yet. Throws `cannot_write_file`.
 */
export async function keptArchives(
  sources: readonly Pick<ConfiguredSource, 'archive'>[],
  newId?: () => string,
): Promise<readonly KeptArchive[]> {
  const directories = new Set(sources.flatMap(({ archive }) => archive?.directory ?? []))
  const kept: KeptArchive[] = []
  for (const directory of directories) {
    const id = await (newId ? archiveIdOf(directory, newId) : archiveIdIn(directory))
    if (id !== undefined) kept.push({ id, name: `${directory} on ${hostname()}` })
  }
  return kept
}

/** Leaves out sources with a registered archive: the service that registered the archive also erases users from it. */
export async function withoutKept<Source extends Pick<ConfiguredSource, 'archive'>>(
  sources: readonly Source[],
): Promise<readonly Source[]> {
  const own: Source[] = []
  for (const source of sources) {
    const directory = source.archive?.directory
    if (directory === undefined || (await archiveIdIn(directory)) === undefined) own.push(source)
  }
  return own
}

/** Lists the archives that a new configuration no longer has. Deletions don't reach them any more. */
export function abandonedArchives(
  before: readonly Pick<ConfiguredSource, 'id' | 'archive'>[],
  after: readonly Pick<ConfiguredSource, 'id' | 'archive'>[],
): readonly { readonly sourceId: string; readonly directory: string }[] {
  const directories = new Map(after.map(({ id, archive }) => [id, archive?.directory]))
  return before.flatMap(({ id: sourceId, archive }) =>
    archive === undefined || directories.get(sourceId) === archive.directory
      ? []
      : [{ sourceId, directory: archive.directory }],
  )
}

function tooSlow(directory: string): EvrouteError {
  const message = `Cannot write the archive ${directory}: it took more than ${formatDuration(waitMs)}`
  const hint = 'Check that the disk responds.'
  return new EvrouteError({ code: 'cannot_write_file', message, hint })
}

function notInTime(): EvrouteError {
  const message = 'Cannot write to an archive: the service is closing, and its grace period is over'
  return new EvrouteError({ code: 'cannot_write_file', message })
}
