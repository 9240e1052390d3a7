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

/** How long events wait to be written: a disk that hangs must not hold back every answer. */
const waitMs = 5_000

/** What archives are made of where it is not the system's. */
export interface ArchivesParts {
  /** How long is waited; a disk takes real time, whatever the clock of the service is. */
  readonly clock?: Clock
  /** How files are written. */
  readonly append?: Append
}

/** Whose events are to be erased. */
export interface ArchivesErasureRequest {
  /** The sources; those without an archive are passed over. */
  readonly sources: readonly Pick<ConfiguredSource, 'id' | 'archive'>[]
  /** The users: those whose userId, or whose previousId on alias, is among them. */
  readonly userIds: readonly string[]
  /** What was accepted at this moment or before, in milliseconds since 1970. */
  readonly untilMs: number
  /** Ends it early, with its reason. */
  readonly signal: AbortSignal
}

/** The archives of a service: one per folder, for all sources that keep their events there. */
export class Archives {
  readonly #startedAtMs: number
  readonly #clock: Clock
  readonly #append: Append | undefined
  readonly #archives = new Map<string, Archive>()
  /** What is being kept, and what gives it up. */
  readonly #keeping = new Map<AbortController, Promise<void>>()
  #endsAtMs = Infinity

  /** @param startedAtMs - tells this run's files from those of others, in milliseconds since 1970 */
  constructor(startedAtMs: number, { clock = systemClock, append }: ArchivesParts = {}) {
    this.#startedAtMs = startedAtMs
    this.#clock = clock
    this.#append = append
  }

  /**
   * Keeps the accepted events among results, where their source wants them kept. Duplicates too: what
   * they are duplicates of may have been stored by a run that ended before it was archived.
   *
   * @throws EvrouteError `cannot_write_file`, also when it takes more than 5 s; such events may be
   * written or not
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
   * Gives events `graceMs` from now to be written, those that come meanwhile too. Resolves once
   * nothing waits for that, or everything was given up.
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
   * Erases what archives have of users, that of runs before too, while events go on being kept. What
   * was accepted and is kept only after it is not erased: wait for that first. One erasure at a time.
   *
   * The archives are those of the sources as they are configured: the folder of a source that is not
   * configured any more, or had another folder before, is not known.
   *
   * @throws the reason of the signal
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
 * The archives of sources, as processes that share a store know of each other's. Each is one folder, for
 * all sources that keep their events there.
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

/** Sources without those whose archive a service keeps that shares its store: that erases it itself. */
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

/** An archive that deletions will not find any more. */
export interface LeftArchive {
  /** The source whose events are in it. */
  readonly sourceId: string
  /** Its folder. */
  readonly directory: string
}

/** The archives of sources that have another one now, or none, or are not configured any more. */
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
    message: `Cannot write the archive ${directory}: it takes more than ${formatDuration(waitMs)}`,
    hint: 'Check the disk that it is on.',
  })
}

function notInTime(): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: 'Cannot write to an archive before the service has closed',
  })
}
