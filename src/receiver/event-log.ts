import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { Arrivals } from './arrivals.ts'
import { keptWeight } from './kept-weight.ts'
import type { ReceivedCounts, ReceivedEvent, UnnumberedEvent } from './received-event.ts'
import type { Waits } from './waits.ts'

/**
 * Hears of each event, in order. The promise that it returns is awaited before the sender is answered and
 * before the next event, so a slow listener slows the senders. It must not wait for a later event. Its errors
 * go to the log and stop nothing else.
 */
export type EventListener = (event: ReceivedEvent) => unknown

/** Bodies in memory, for any number of events: 64 MB, and fewer if they have very many values. */
const keptBytesMax = 64 * 1024 * 1024

/** Numbers and counts the events, keeps the newest and tells listeners of each, one after the other. */
export class EventLog {
  /** The requests that arrived and are not in the log yet. */
  readonly arrivals: Arrivals = new Arrivals()
  readonly #eventsMax: number
  readonly #log: Log
  readonly #waits: Waits
  readonly #listeners = new Set<EventListener>()
  readonly #kept: { readonly event: ReceivedEvent; readonly weight: number }[] = []
  #keptBytes = 0
  #turn: Promise<void> = Promise.resolve()
  #counts: ReceivedCounts = Object.freeze({
    received: 0,
    wellFormed: 0,
    malformed: 0,
    valid: 0,
    invalid: 0,
    missing: 0,
  })

  /**
   * @param eventsMax - the number of events to keep
   * @param log - hears of listeners that fail
   * @param waits - waits for listeners; once they end, no listener is awaited
   */
  constructor(eventsMax: number, log: Log, waits: Waits) {
    this.#eventsMax = eventsMax
    this.#log = log
    this.#waits = waits
  }

  /**
   * The newest events, oldest first: at most `eventsMax`, with bodies of at most 64 MB, fewer of
   * very many values.
   */
  get events(): readonly ReceivedEvent[] {
    return this.#kept.map(({ event }) => event)
  }

  /** The kept events after a number, oldest first, up to a maximum. */
  after(seq: number, eventsMax: number): readonly ReceivedEvent[] {
    // Numbers have no gaps, so the place of an event is known.
    const from = Math.max(0, seq + 1 - (this.#kept[0]?.event.seq ?? 0))
    return this.#kept.slice(from, from + eventsMax).map(({ event }) => event)
  }

  /** The counts at this moment; the object does not change later. */
  get counts(): ReceivedCounts {
    return this.#counts
  }

  /**
   * Numbers, counts and keeps an event, then tells every listener, in turn. Resolves when the listeners have
   * handled this event.
   *
   * @param describe - makes the event at its turn; this rejects with its error
   */
  add(describe: () => UnnumberedEvent): Promise<void> {
    const added = this.#turn.then(() => this.#add(describe()))
    this.#turn = added.catch(() => undefined)
    return added
  }

  /**
   * Tells the listener of every event from now on.
   *
   * @returns a function that ends it
   */
  listen(listener: EventListener): () => void {
    // A function of its own per call, so that a listener given twice is told twice and ended once.
    const told: EventListener = (event) => listener(event)
    this.#listeners.add(told)
    return () => void this.#listeners.delete(told)
  }

  async #add(request: UnnumberedEvent): Promise<void> {
    const event = Object.freeze({ ...request, seq: this.#counts.received + 1 })
    this.#counts = countWith(this.#counts, event)
    this.#keep(event)
    const telling = [...this.#listeners]
      .map((listener) => this.#tell(listener, event))
      .filter((told) => told !== undefined)
    if (telling.length > 0) await this.#waits.until(Promise.all(telling))
  }

  #keep(event: ReceivedEvent): void {
    const weight = keptWeight(event)
    this.#kept.push({ event, weight })
    this.#keptBytes += weight
    while (this.#kept.length > this.#eventsMax || this.#keptBytes > keptBytesMax) {
      this.#keptBytes -= this.#kept.shift()?.weight ?? 0
    }
  }

  /** Returns what is left to await, which never rejects; undefined if the listener is done. */
  #tell(listener: EventListener, event: ReceivedEvent): Promise<unknown> | undefined {
    const failed = (error: unknown): void => {
      const fields = { seq: event.seq, error: messageOf(error) }
      this.#log.warn('a listener of the receiver failed', fields)
    }
    try {
      const told = listener(event)
      return isThenable(told) ? Promise.resolve(told).catch(failed) : undefined
    } catch (error) {
      failed(error)
      return undefined
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}

function countWith(counts: ReceivedCounts, event: ReceivedEvent): ReceivedCounts {
  const { signature } = event
  return Object.freeze({
    ...counts,
    received: counts.received + 1,
    ...(event.kind === 'webhook'
      ? { wellFormed: counts.wellFormed + 1 }
      : { malformed: counts.malformed + 1 }),
    ...(signature === 'unchecked' ? {} : { [signature]: counts[signature] + 1 }),
  })
}
