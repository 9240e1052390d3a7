import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import { Arrivals } from './arrivals.ts'
import { keptWeight } from './kept-weight.ts'
import type { ReceivedCounts, ReceivedEvent, UnnumberedEvent } from './received-event.ts'
import type { Waits } from './waits.ts'

/**
 * Called for each event, in order. The receiver awaits the returned promise before it answers the sender and before
 * the next event, so a slow listener slows the senders. A listener must not wait for a later event. Its errors only go
 * to the log.
 */
export type EventListener = (event: ReceivedEvent) => unknown

/** Maximum memory for bodies: 64 MB, and less for bodies with very many values. */
const keptBytesMax = 64 * 1024 * 1024

/** Numbers and counts events, keeps the newest, and calls the listeners for each, one event after the other. */
export class EventLog {
  /** The requests that have arrived and are not in the log yet. */
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
   * @param log - gets a warning for each listener that fails
   * @param waits - the waits for listeners; once they end, no listener is awaited
   */
  constructor(eventsMax: number, log: Log, waits: Waits) {
    this.#eventsMax = eventsMax
    this.#log = log
    this.#waits = waits
  }

  /**
   * The newest events, oldest first: at most `eventsMax`, and at most 64 MB of bodies, or less if the bodies have very
   * many values.
   */
  get events(): readonly ReceivedEvent[] {
    return this.#kept.map(({ event }) => event)
  }

  /** Returns the kept events after a number, oldest first, up to a maximum. */
  after(seq: number, eventsMax: number): readonly ReceivedEvent[] {
    // The numbers have no gaps, so the index of an event follows from its number.
    const from = Math.max(0, seq + 1 - (this.#kept[0]?.event.seq ?? 0))
    return this.#kept.slice(from, from + eventsMax).map(({ event }) => event)
  }

  /** The current counts. The object does not change later. */
  get counts(): ReceivedCounts {
    return this.#counts
  }

  /**
   * Numbers, counts and keeps an event, then calls every listener. Events are added one after another. Resolves when
   * the listeners have handled this event.
   *
   * @param describe - makes the event when its turn comes; if it throws, `add` rejects with the error
   */
  add(describe: () => UnnumberedEvent): Promise<void> {
    const added = this.#turn.then(() => this.#add(describe()))
    this.#turn = added.catch(() => undefined)
    return added
  }

  /**
   * Calls the listener for every event from now on.
   *
   * @returns a function that removes the listener
   */
  listen(listener: EventListener): () => void {
    // Wrap the listener, so that adding it twice calls it twice, and each returned function removes one.
    const wrapped: EventListener = (event) => listener(event)
    this.#listeners.add(wrapped)
    return () => void this.#listeners.delete(wrapped)
  }

  async #add(request: UnnumberedEvent): Promise<void> {
    const event = Object.freeze({ ...request, seq: this.#counts.received + 1 })
    this.#counts = countWith(this.#counts, event)
    this.#keep(event)
    const pending: Promise<unknown>[] = []
    for (const listener of [...this.#listeners]) {
      const handled = this.#call(listener, event)
      if (handled !== undefined) pending.push(handled)
    }
    if (pending.length > 0) await this.#waits.until(Promise.all(pending))
  }

  #keep(event: ReceivedEvent): void {
    const weight = keptWeight(event)
    this.#kept.push({ event, weight })
    this.#keptBytes += weight
    while (this.#kept.length > this.#eventsMax || this.#keptBytes > keptBytesMax) {
      this.#keptBytes -= this.#kept.shift()?.weight ?? 0
    }
  }

  /** Calls a listener. Returns a promise that never rejects; undefined if the listener is done. */
  #call(listener: EventListener, event: ReceivedEvent): Promise<unknown> | undefined {
    const failed = (error: unknown): void => {
      const fields = { seq: event.seq, error: messageOf(error) }
      this.#log.warn('a listener of the receiver failed', fields)
    }
    try {
      const handled = listener(event)
      return isThenable(handled) ? Promise.resolve(handled).catch(failed) : undefined
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
  const { kind, signature } = event
  return Object.freeze({
    received: counts.received + 1,
    wellFormed: counts.wellFormed + Number(kind === 'webhook'),
    malformed: counts.malformed + Number(kind === 'malformed'),
    valid: counts.valid + Number(signature === 'valid'),
    invalid: counts.invalid + Number(signature === 'invalid'),
    missing: counts.missing + Number(signature === 'missing'),
  })
}
