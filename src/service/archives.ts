import { hostname } from 'node:os'
import {
  Archive,
  archiveIdIn,
  archiveIdOf,
  isAboutUsers,
  type Append,
  type ErasedFromArchive,
} from '../archive/index.ts'
import type { IntakeResult } from '../intake/index.ts'
import { EvrouteError, formatDuration, type AnalyticsEvent } from '../model/index.ts'
import type { KeptArchive } from '../privacy/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { ConfiguredSource } from './configuration/index.ts'

/** How long to wait for a write. A disk that hangs must not delay every answer. */
const waitMs = 5_000

/** Replacements for parts of {@link Archives}, for tests. */
export interface ArchivesParts {
  /**
   * The clock that limits waits for the disk; by default real time, even if the service has a different clock.
   */
  readonly clock?: Clock
  /** Appends to a file. */
  readonly append?: Append
}

/** A request to erase events of users from the archives of sources. */
export interface ArchivesErasureRequest {
  /** The sources; sources without an archive are skipped. */
  readonly sources: readonly Pick<ConfiguredSource, 'id' | 'archive'>[]
  /** Events are erased if one of these is their userId or, in an alias, their previousId. */
  readonly userIds: readonly string[]
  /** The moment, in milliseconds since 1970, up to which accepted events are erased. */
  readonly untilMs: number
  /** Ends the erasure early. */
  readonly signal: AbortSignal
}

/** The archives of a service: one per folder. Several sources can share a folder. */
export class Archives {
  readonly #startedAtMs: number
  readonly #clock: Clock
  readonly #append: Append | undefined
  readonly #archives = new Map<string, Archive>()
  /** Writes in progress, each keyed by the controller that aborts it. */
  readonly #keeping = new Map<AbortController, Promise<void>>()
  #endsAtMs = Infinity

  /**
   * @param startedAtMs - when this run started, in milliseconds since 1970. Its file names begin with this
   * time, so that runs don't share files.
   */
  constructor(startedAtMs: number, { clock = systemClock, append }: ArchivesParts = {}) {
    this.#startedAtMs = startedAtMs
    this.#clock = clock
    this.#append = append
  }

  /**
   * Archives the accepted events in the results, if their source has an archive. This includes duplicates: an
   * earlier run may have ended after it stored the original and before it archived it.
   *
   * @throws EvrouteError `cannot_write_file`, also if the write takes more than 5 s. Some of the events may be
   * written all the same.
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
    const leftMs = Math.min(waitMs, this.#endsAtMs - this.#clock.nowMs())
    const timer = this.#clock.schedule(leftMs, () => giveUp.abort(tooSlow(directory)))
    const keeping = this.#at(directory).append(events, giveUp.signal)
    this.#keeping.set(giveUp, keeping)
    try {
      await keeping
    } finally {
      timer.cancel()
      this.#keeping.delete(giveUp)
    }
  }

  /**
   * Gives writes `graceMs` to end, including writes that begin after the call, then aborts them. Resolves once
   * no write is in progress.
   */
  async close(graceMs: number): Promise<void> {
    this.#endsAtMs = this.#clock.nowMs() + graceMs
    const timer = this.#clock.schedule(graceMs, () => {
      for (const giveUp of this.#keeping.keys()) giveUp.abort(notInTime())
    })
    await Promise.allSettled(this.#keeping.values())
    timer.cancel()
  }

  /**
   * Erases events of users from archives, including files of earlier runs. New events can be archived
   * meanwhile. Call it only after accepted events are archived, or they may be missed. Run one erasure at a
   * time.
   *
   * Erases from the folders that are configured now, not from a folder that a source had before.
   *
   * @throws the signal's reason once it aborts
   */
  async erase(request: ArchivesErasureRequest): Promise<ErasedFromArchive> {
    const { sources, userIds, untilMs, signal } = request
    const isErased = isAboutUsers(userIds, untilMs)
    let erased: ErasedFromArchive = { events: 0, files: 0, problems: [] }
    for (const { id: sourceId, archive } of sources) {
      if (archive === undefined) continue
      const { events, files, problems } = await this.#at(archive.directory).erase({
        sourceId,
        isErased,
        signal,
      })
      erased = {
        events: erased.events + events,
        files: erased.files + files,
        problems: [...erased.problems, ...problems],
      }
    }
    return erased
  }

  #at(directory: string): Archive {
    const archive =
      this.#archives.get(directory) ?? new Archive(directory, this.#startedAtMs, this.#append)
    this.#archives.set(directory, archive)
    return archive
  }
}

/**
 * Returns the ids and names of the sources' archives, one per folder, for the processes that share the store.
 *
 * @throws EvrouteError `cannot_write_file`
 */
export async function keptArchives(
  sources: readonly Pick<ConfiguredSource, 'archive'>[],
  newId: () => string,
): Promise<readonly KeptArchive[]> {
  const directories = new Set(sources.flatMap(({ archive }) => archive?.directory ?? []))
  const kept: KeptArchive[] = []
  for (const directory of directories) {
    const id = await archiveIdOf(directory, newId)
    kept.push({ id, name: `${directory} on ${hostname()}` })
  }
  return kept
}

/**
 * Leaves out sources whose archive is registered by a service that shares the store: that service erases it.
 */
export async function withoutKept<Source extends Pick<ConfiguredSource, 'archive'>>(
  sources: readonly Source[],
): Promise<readonly Source[]> {
  const own: Source[] = []
  for (const source of sources) {
    const { archive } = source
    if (archive === undefined || (await archiveIdIn(archive.directory)) === undefined)
      own.push(source)
  }
  return own
}

/** An archive that is no longer configured, so that deletions don't reach it. */
export interface LeftArchive {
  readonly sourceId: string
  readonly directory: string
}

/**
 * Lists the archives that a new configuration abandons: their source is removed, or now has a different folder
 * or no archive.
 */
export function leftArchives(
  before: readonly Pick<ConfiguredSource, 'id' | 'archive'>[],
  after: readonly Pick<ConfiguredSource, 'id' | 'archive'>[],
): readonly LeftArchive[] {
  const directories = new Map(after.map(({ id, archive }) => [id, archive?.directory]))
  return before.flatMap(({ id: sourceId, archive }) =>
    archive === undefined || directories.get(sourceId) === archive.directory
      ? []
      : [{ sourceId, directory: archive.directory }],
  )
}

function tooSlow(directory: string): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the archive ${directory}: it took more than ${formatDuration(waitMs)}`,
    hint: 'Check that the disk responds.',
  })
}

function notInTime(): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: 'Cannot write to an archive: the service is closing, and its time is up',
  })
}
