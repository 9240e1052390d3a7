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

/** The archives of a service, one per folder. Several sources can share a folder. */
export class Archives {
  readonly #startedAtMs: number
  readonly #clock: Clock
  readonly #append: Append | undefined
  readonly #archives = new Map<string, Archive>()
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
    this.#append = parts.append
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
    const keeping = this.#at(directory).append(events, giveUp.signal)
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

  /**
   * Erases events of users from all files in the archives of these sources. Before you call it, wait until all stored
   * events are archived. Run one erasure at a time. Throws the signal's reason once it aborts.
   */
  async erase({ sources, userIds, untilMs, signal }: ErasureRequest): Promise<ErasedFromArchive> {
    const isErased = isAboutUsers(userIds, untilMs)
    let erased: ErasedFromArchive = { events: 0, files: 0, problems: [] }
    for (const { id: sourceId, archive } of sources) {
      if (archive === undefined) continue
      const selection = { sourceId, isErased, signal }
      const { events, files, problems } = await this.#at(archive.directory).erase(selection)
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

/** Returns the id and name of each archive, for its registration in a shared store. Throws `cannot_write_file`. */
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
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the archive ${directory}: it took more than ${formatDuration(waitMs)}`,
    hint: 'Check that the disk responds.',
  })
}

function notInTime(): EvrouteError {
  return new EvrouteError({
    code: 'cannot_write_file',
    message: 'Cannot write to an archive: the service is closing, and its grace period is over',
  })
}
