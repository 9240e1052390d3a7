import { messageOf } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { ReceivedCounts, ReceivedEvent, UnnumberedEvent } from './received-event.ts'

/**
 * Is told of each event, in order. What it throws, or rejects with, goes to the log and stops nobody;
 * what it returns is not waited for.
 */
export type EventListener = (event: ReceivedEvent) => unknown

/** Bodies that are kept in memory, whatever the number of events: 64 MB. */
const keptBytesMax = 64 * 1024 * 1024

/** What arrived: numbers it, counts it, keeps the newest of it and tells whoever listens. */
export class EventLog {
  readonly #eventsMax: number
  readonly #log: Log
  readonly #listeners = new Set<EventListener>()
  readonly #kept: ReceivedEvent[] = []
  #keptBytes = 0
  #counts: ReceivedCounts = Object.freeze({
    received: 0,
    wellFormed: 0,
    malformed: 0,
    valid: 0,
    invalid: 0,
    missing: 0,
  })

  /** @param eventsMax - how many events are kept */
  constructor(eventsMax: number, log: Log) {
    this.#eventsMax = eventsMax
    this.#log = log
  }

  /** The newest events, oldest first: at most `eventsMax`, with bodies of at most 64 MB. */
  get events(): readonly ReceivedEvent[] {
    return [...this.#kept]
  }

  /** The counts at this moment; the object does not change later. */
  get counts(): ReceivedCounts {
    return this.#counts
  }

  /** Numbers, counts and keeps an event and tells it to every listener, before it returns. */
  add(request: UnnumberedEvent): ReceivedEvent {
    const event = Object.freeze({ seq: this.#counts.received + 1, ...request })
    this.#counts = countWith(this.#counts, event)
    this.#keep(event)
    for (const listener of [...this.#listeners]) this.#tell(listener, event)
    return event
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

  #keep(event: ReceivedEvent): void {
    this.#kept.push(event)
    this.#keptBytes += event.bytes
    while (this.#kept.length > this.#eventsMax || this.#keptBytes > keptBytesMax) {
      this.#keptBytes -= this.#kept.shift()?.bytes ?? 0
    }
  }

  #tell(listener: EventListener, event: ReceivedEvent): void {
    const call = async (): Promise<void> => {
      await listener(event)
    }
    call().catch((error: unknown) =>
      this.#log.warn('a listener of the receiver failed', {
        seq: event.seq,
        error: messageOf(error),
      }),
    )
  }
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
