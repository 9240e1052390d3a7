import type { ReplayCounts, ReplayOutcome, ReplayRequest } from '../admin-api/index.ts'
import { callOfArchivedRow, readArchive, type ArchivePart } from '../archive/index.ts'
import type { AddOutcome, NewEvent } from '../delivery/index.ts'
import { Intake } from '../intake/index.ts'
import type { Destination } from '../model/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import type { Configuration } from './configuration/index.ts'

/** What archived events are sent again with. */
export interface ArchiveReplayOptions {
  /** The sources, those with an archive, and where events may go. */
  readonly configuration: () => Pick<Configuration, 'sources' | 'destinations'>
  /** Takes deliveries in. */
  readonly add: (events: readonly NewEvent[]) => Promise<readonly AddOutcome[]>
  /** Whether so much waits for one of these that a replay would take the room of what sources send. */
  readonly isFull: (destinations: readonly Destination[]) => Promise<boolean>
  /** Whether archives may have what a regulation wants erased: nothing of them is sent then. */
  readonly isHeld: () => boolean
  /** Looks for what other processes want erased of archives, which ends the replay that is under way. */
  readonly look?: () => Promise<void>
  /** Clock, ids and log. */
  readonly runtime: Runtime
  /** Aborts when the service closes. */
  readonly ending: AbortSignal
}

/** How often a replay looks whether there is room again. */
const roomLookMs = 500

/** Sends archived events again, one request at a time. */
export class ArchiveReplay {
  readonly #options: ArchiveReplayOptions
  #running: { readonly end: AbortController; readonly ended: Promise<unknown> } | undefined

  constructor(options: ArchiveReplayOptions) {
    this.#options = options
  }

  /**
   * Sends archived events again, to the destinations that their source has today, or to one of them.
   *
   * None is begun while users are being taken out of archives, and one that is under way is ended: it
   * would send events of theirs that it has read already.
   *
   * @param signal - aborts when no one waits for the outcome any more; that ends the replay
   * @throws whatever makes the store refuse them
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

  /** Ends the replay that is under way because of a deletion; resolves once it has added its last event. */
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

type ConfiguredSources = Configuration['sources']
type ConfiguredDestinations = Configuration['destinations']

/** What a request means. */
interface Choice {
  readonly kind: 'chosen'
  readonly sources: ConfiguredSources
  readonly destinations: ConfiguredDestinations
}

function choose(
  { sources, destinations }: Pick<Configuration, 'sources' | 'destinations'>,
  { sourceId, destinationId }: ReplayRequest,
): Choice | (ReplayOutcome & { readonly kind: 'unknown' | 'no_archive' }) {
  const chosenSources = named(sources, sourceId)
  const chosenDestinations = named(destinations, destinationId)
  if (chosenSources.length === 0) return unknown('source', sources)
  if (chosenDestinations.length === 0 && destinationId !== undefined) {
    return unknown('destination', destinations)
  }
  const archived = chosenSources.filter(({ archive }) => archive !== undefined)
  if (archived.length === 0) return { kind: 'no_archive' }
  return { kind: 'chosen', sources: archived, destinations: chosenDestinations }
}

/** All of them where none is named. */
function named<Item extends { readonly id: string }>(
  items: readonly Item[],
  wantedId: string | undefined,
): readonly Item[] {
  return wantedId === undefined ? items : items.filter(({ id }) => id === wantedId)
}

function unknown(
  field: 'source' | 'destination',
  items: readonly { readonly id: string }[],
): ReplayOutcome & { readonly kind: 'unknown' } {
  return { kind: 'unknown', field, knownIds: items.map(({ id }) => id) }
}

/** Stands for the source within the intake of one replay. */
const replaySource = 'replay'

/** One replay, and what it has done so far. */
class ReplayRun {
  readonly #options: ArchiveReplayOptions
  readonly #signal: AbortSignal
  /** Files and folders whose problems were logged. */
  readonly #logged = new Set<string>()
  #counts: ReplayCounts = nothing

  constructor(options: ArchiveReplayOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  get counts(): ReplayCounts {
    return this.#counts
  }

  /** @returns false when the signal ended it before its end */
  async send({ sources, destinations }: Choice, request: ReplayRequest): Promise<boolean> {
    for (const { id, archive } of sources) {
      if (archive === undefined) continue
      const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(id))
      const intake = this.#intake(id, connected)
      for await (const part of readArchive(archive.directory, id, request)) {
        this.#problems(part.path, part.problems)
        if (!(await this.#hasRoom(connected))) return false
        await this.#options.look?.()
        if (this.#signal.aborted) return false
        await this.#sendPart(part, intake)
      }
    }
    return true
  }

  /** Resolves once there is room, with true; with false as soon as the signal aborts. */
  async #hasRoom(destinations: ConfiguredDestinations): Promise<boolean> {
    const { isFull, runtime } = this.#options
    while (!this.#signal.aborted && (await isFull(destinations))) {
      await sleep(runtime.clock, roomLookMs, this.#signal)
    }
    return !this.#signal.aborted
  }

  async #sendPart({ path, rows }: ArchivePart, intake: Intake): Promise<void> {
    const calls = rows.map(callOfArchivedRow)
    const problems: string[] = []
    let { events, deliveries } = this.#counts
    for (const result of await intake.accept({ sourceId: replaySource, calls })) {
      if (result.kind === 'rejected') problems.push(result.message)
      // An archive has an event twice that was sent twice.
      else if (result.outcome !== 'duplicate') {
        events++
        if (result.outcome === 'routed') deliveries += result.deliveries.length
      }
    }
    this.#counts = { ...this.#counts, events, deliveries }
    this.#problems(path, problems)
  }

  /** Counts them, and tells of a file once: whatever is wrong with it is often wrong with every row. */
  #problems(path: string, problems: readonly string[]): void {
    const [reason] = problems
    if (reason === undefined) return
    const unreadable = this.#counts.unreadable + problems.length
    this.#counts = { ...this.#counts, unreadable }
    if (this.#logged.has(path)) return
    this.#logged.add(path)
    this.#options.runtime.log.warn('an archive cannot be read whole', { path, reason })
  }

  /** Each replay is a source of its own, so that its events are no duplicates of what they were. */
  #intake(sourceId: string, connected: ConfiguredDestinations): Intake {
    const { add, runtime } = this.#options
    const storedSourceId = `${sourceId}/replay-${runtime.newId()}`
    return new Intake({
      add: (events) => add(events.map((event) => ({ ...event, sourceId: storedSourceId }))),
      destinations: connected.map((destination) => ({
        ...destination,
        sourceIds: [replaySource],
      })),
      runtime,
    })
  }
}
