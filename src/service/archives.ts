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

/** How long to wait for a write. A disk that hangs must not hold back every answer. */
const waitMs = 5_000

/** Replacements for parts of {@link Archives}, for tests. */
export interface ArchivesParts {
  /** Times the wait for the disk; real time by default, whatever the clock of the service is. */
  readonly clock?: Clock
  /** Appends to a file. */
  readonly append?: Append
}

/** Selects the events to erase. */
export interface ArchivesErasureRequest {
  /** The sources; sources without an archive are skipped. */
  readonly sources: readonly Pick<ConfiguredSource, 'id' | 'archive'>[]
  /** Erases events whose userId, or on alias previousId, is one of these. */
  readonly userIds: readonly string[]
  /** Erases events accepted until this time, in milliseconds since 1970. */
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
  /** Writes in progress, by the controllers that abort them. */
  readonly #keeping = new Map<AbortController, Promise<void>>()
  #endsAtMs = Infinity

  /**
   * @param startedAtMs - start of this run, in milliseconds since 1970. The names of its files begin
   *   with it, so that runs don't share files.
   */
  constructor(startedAtMs: number, { clock = systemClock, append }: ArchivesParts = {}) {
    this.#startedAtMs = startedAtMs
    this.#clock = clock
    this.#append = append
  }

  /**
   * Archives the accepted events among results, if their source has an archive. Duplicates too: a run
   * may have ended after it stored the original and before it archived it.
   *
   * @throws EvrouteError `cannot_write_file`, also if writing takes more than 5 s. Some of the events
   *   may then have been written.
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
   * Allows writes, also those that begin now, `graceMs` to end, then aborts them. Resolves once no write
   * is in progress.
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
   * Erases events of users from archives, also from files of earlier runs. New events can be archived
   * meanwhile. Call it only once accepted events are archived, or it misses them. One erasure at a time.
   *
   * It knows the current folders of configured sources only, not a folder that a source had before.
   *
   * @throws the abort reason of the signal
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
 * Identifies the archives of sources for the other processes that share the store: one archive per folder.
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

/** Leaves out sources whose archive belongs to a service that shares its store. That service erases it. */
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

/** An archive that deletions no longer reach. */
export interface LeftArchive {
  readonly sourceId: string
  readonly directory: string
}

/** Archives that a new configuration abandons: their source has another folder, no archive, or is removed. */
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
    message: `Cannot write the archive ${directory}: writing takes more than ${formatDuration(waitMs)}`,
    hint: 'Check the disk.',
  })
}

function notInTime(): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: 'Cannot write to an archive in the time that the service has to close',
  })
}
