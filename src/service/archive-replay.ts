import type { ReplayCounts, ReplayOutcome, ReplayRequest } from '../admin-api/index.ts'
import { callOfArchivedRow, readArchive } from '../archive/index.ts'
import type { AddOutcome, NewEvent } from '../delivery/index.ts'
import { Intake, type IntakeResult } from '../intake/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

interface ArchiveReplayOptions {
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations'>
  readonly add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>
  /** Resolves with true once the backlogs have room, or with false when the signal aborts. */
  readonly hasRoom: (destinations: readonly Destination[], signal: AbortSignal) => Promise<boolean>
  /** Whether a regulation must still erase events from archives. Until then, no replay may run. */
  readonly isHeld: () => boolean
  /** Looks for regulations from other processes. Ends the running replay if a regulation erases from archives. */
  readonly look?: () => Promise<void>
  readonly runtime: Runtime
  readonly ending: AbortSignal
}

/** Replays archives, one replay at a time. */
export class ArchiveReplay {
  readonly #options: ArchiveReplayOptions
  #running: { readonly end: AbortController; readonly ended: Promise<unknown> } | undefined

  constructor(options: ArchiveReplayOptions) {
    this.#options = options
  }

  /**
   * Sends archived events again, to one destination or to all current destinations of their source. Ends early if the
   * signal aborts, or if users are erased from archives, because the replay may already have read their events.
   */
  async run(request: ReplayRequest, signal: AbortSignal): Promise<ReplayOutcome> {
    await this.#options.look?.()
    if (this.#running !== undefined) return { kind: 'running' }
    const choice = choose(this.#options.configuration(), request)
    if (choice.kind !== 'chosen') return choice
    if (this.#options.isHeld()) return { kind: 'deletion', ...nothing }
    const end = new AbortController()
    const ended = this.#send(choice, request, AbortSignal.any([signal, end.signal]))
    this.#running = { end, ended }
    try {
      const outcome = await ended
      return outcome.kind === 'ended' && end.signal.aborted
        ? { ...outcome, kind: 'deletion' }
        : outcome
    } finally {
      this.#running = undefined
    }
  }

  /** Ends the running replay because of a deletion. Resolves once the replay has added its last event. */
  async end(): Promise<void> {
    const running = this.#running
    running?.end.abort(new Error('Users are being deleted from archives'))
    await running?.ended.catch(() => undefined)
  }

  async #send(
    choice: Choice,
    request: ReplayRequest,
    signal: AbortSignal,
  ): Promise<{ readonly kind: 'replayed' | 'ended' } & ReplayCounts> {
    const { ending, runtime } = this.#options
    const run = new ReplayRun(this.#options, AbortSignal.any([signal, ending]))
    const { sourceId = null, destinationId = null } = request
    const fields = { source: sourceId, destination: destinationId }
    let isComplete = false
    runtime.log.info('a replay began', fields)
    try {
      isComplete = await run.send(choice, request)
      return { kind: isComplete ? 'replayed' : 'ended', ...run.counts }
    } finally {
      runtime.log.info('a replay ended', { ...fields, complete: isComplete, ...run.counts })
    }
  }
}

const nothing: ReplayCounts = Object.freeze({ events: 0, deliveries: 0, unreadable: 0 })

interface Choice extends Pick<Configuration, 'sources' | 'destinations'> {
  readonly kind: 'chosen'
}

function choose(
  { sources, destinations }: Pick<Configuration, 'sources' | 'destinations'>,
  { sourceId, destinationId }: ReplayRequest,
): Choice | (ReplayOutcome & { readonly kind: 'unknown' | 'no_archive' }) {
  const chosenSources = sources.filter(({ id }) => id === (sourceId ?? id))
  const chosenDestinations = destinations.filter(({ id }) => id === (destinationId ?? id))
  if (chosenSources.length === 0) return unknown('source', sources)
  if (chosenDestinations.length === 0 && destinationId !== undefined) {
    return unknown('destination', destinations)
  }
  const archived = chosenSources.filter(({ archive }) => archive !== undefined)
  if (archived.length === 0) return { kind: 'no_archive' }
  return { kind: 'chosen', sources: archived, destinations: chosenDestinations }
}

function unknown(
  field: 'source' | 'destination',
  items: readonly { readonly id: string }[],
): ReplayOutcome & { readonly kind: 'unknown' } {
  return { kind: 'unknown', field, knownIds: items.map(({ id }) => id) }
}

class ReplayRun {
  readonly counts = { ...nothing }
  readonly #options: ArchiveReplayOptions
  readonly #signal: AbortSignal
  readonly #logged = new Set<string>()

  constructor(options: ArchiveReplayOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  /** @returns false if the signal ended the replay early */
  async send({ sources, destinations }: Choice, request: ReplayRequest): Promise<boolean> {
    const { add, hasRoom, look, runtime } = this.#options
    for (const { id, archive } of sources) {
      if (archive === undefined) continue
      const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(id))
      // Each replay has a source id of its own, so that deduplication doesn't drop its events.
      const sourceId = `${id}/replay-${runtime.newId()}`
      const replayed = connected.map((each) => ({ ...each, sourceIds: [sourceId] }))
      const intake = new Intake({ add, destinations: replayed, runtime })
      for await (const { path, rows, problems } of readArchive(archive.directory, id, request)) {
        this.#problems(path, problems)
        if (!(await hasRoom(connected, this.#signal))) return false
        await look?.()
        if (this.#signal.aborted) return false
        this.#count(path, await intake.accept({ sourceId, calls: rows.map(callOfArchivedRow) }))
      }
    }
    return true
  }

  #count(path: string, results: readonly IntakeResult[]): void {
    const problems: string[] = []
    for (const result of results) {
      if (result.kind === 'rejected') problems.push(result.message)
      // Don't count a duplicate: the source sent it twice, so it is in the archive twice.
      else if (result.outcome !== 'duplicate') {
        this.counts.events++
        if (result.outcome === 'routed') this.counts.deliveries += result.deliveries.length
      }
    }
    this.#problems(path, problems)
  }

  /** Logs only the first problem of each file, because often every row has the same one. */
  #problems(path: string, problems: readonly string[]): void {
    const [reason] = problems
    if (reason === undefined) return
    this.counts.unreadable += problems.length
    if (this.#logged.has(path)) return
    this.#logged.add(path)
    this.#options.runtime.log.warn('part of an archive cannot be read', { path, reason })
  }
}
