import { messageOf, type JsonValue } from '../model/index.ts'
import type { Log } from '../runtime/index.ts'
import type { ReceivedCounts, ReceivedEvent, UnnumberedEvent } from './received-event.ts'
import type { Waits } from './waits.ts'

/**
 * Called for each event, in order. The receiver awaits a returned promise before it answers the sender and handles the
 * next event, so a listener must not wait for a later event. If a listener fails, the receiver only logs a warning.
 */
export type EventListener = (event: ReceivedEvent) => unknown

/** Maximum bytes of bodies to keep. Bodies with very many values count as more bytes. */
const keptBytesMax = 64 * 1024 * 1024
/**
 * A body counts as at least this many bytes per value. A parsed value takes about 64 bytes, even if it is shorter in
 * JSON. So parsed bodies take at most four times `keptBytesMax`.
 */
const valueBytes = 16

/** Numbers and counts events, keeps the newest, and calls the listeners, one event after another. */
export class EventLog {
  readonly arrivals: Arrivals = new Arrivals()
  readonly #eventsMax: number
  readonly #log: Log
  readonly #waits: Waits
  readonly #listeners = new Set<EventListener>()
  /** The newest events by number. A map drops the oldest in constant time; an array of 100,000 took 26 µs. */
  readonly #kept = new Map<number, { readonly event: ReceivedEvent; readonly weight: number }>()
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

  /** @param waits - ends the wait for listeners that have not finished when the receiver closes */
  constructor(eventsMax: number, log: Log, waits: Waits) {
    this.#eventsMax = eventsMax
    this.#log = log
    this.#waits = waits
  }

  get events(): readonly ReceivedEvent[] {
    return Array.from(this.#kept.values(), ({ event }) => event)
  }

  /** Returns at most `eventsMax` of the kept events with a higher number, oldest first. */
  after(seq: number, eventsMax: number): readonly ReceivedEvent[] {
    const before = Math.max(seq, this.#counts.received - this.#kept.size)
    const last = Math.min(this.#counts.received, before + eventsMax)
    const events: ReceivedEvent[] = []
    for (let number = before + 1; number <= last; number += 1) {
      const event = this.get(number)
      if (event !== undefined) events.push(event)
    }
    return events
  }

  get(seq: number): ReceivedEvent | undefined {
    return this.#kept.get(seq)?.event
  }

  get counts(): ReceivedCounts {
    return this.#counts
  }

  /** Makes an event with `describe`, gives it a number, keeps it, and awaits the listeners. One event at a time. */
  add(describe: () => UnnumberedEvent): Promise<void> {
    const added = this.#turn.then(() => this.#add(describe()))
    this.#turn = added.catch(() => undefined)
    return added
  }

  /** Calls the listener for every event from now on. Returns a function that removes the listener. */
  listen(listener: EventListener): () => void {
    // Wrap the listener: a set would ignore a listener that is added a second time.
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
    this.#kept.set(event.seq, { event, weight })
    this.#keptBytes += weight
    while (this.#kept.size > this.#eventsMax || this.#keptBytes > keptBytesMax) {
      const oldest = event.seq - this.#kept.size + 1
      this.#keptBytes -= this.#kept.get(oldest)?.weight ?? 0
      this.#kept.delete(oldest)
    }
  }

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

function countWith(before: ReceivedCounts, { kind, signature }: ReceivedEvent): ReceivedCounts {
  const counts = { ...before, received: before.received + 1 }
  counts[kind === 'webhook' ? 'wellFormed' : 'malformed'] += 1
  if (signature !== 'unchecked') counts[signature] += 1
  return Object.freeze(counts)
}

/** Returns the bytes of an event that count against the memory limit: its body, and the answer of its target. */
function keptWeight({ bytes, body, forward }: ReceivedEvent): number {
  let weight = Math.max(bytes, countValues(body) * valueBytes)
  if (forward === null) return weight
  weight += forward.answer.length
  for (const [name, value] of Object.entries(forward.headers)) weight += name.length + value.length
  return weight
}

/** Counts a value and all values in it. The recursion is safe, because received bodies are not nested deeply. */
function countValues(value: JsonValue | undefined): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const inner of Object.values(value)) count += countValues(inner)
  return count
}

/** The requests that are not in the log yet, because they are being read, delayed or forwarded. */
class Arrivals {
  readonly #underWay = new Set<{ readonly atMs: number; readonly ended: Promise<void> }>()

  get underWay(): number {
    return this.#underWay.size
  }

  /** Adds a request. Returns a function to call once the request is in the log, or if handling the request failed. */
  begin(atMs: number): () => void {
    let end = (): void => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    const arrival = { atMs, ended }
    this.#underWay.add(arrival)
    return () => {
      this.#underWay.delete(arrival)
      end()
    }
  }

  /** Resolves when all requests that arrived up to a moment, in milliseconds since 1970, are in the log. */
  async loggedUntil(untilMs: number): Promise<void> {
    const inTime = [...this.#underWay].filter(({ atMs }) => atMs <= untilMs)
    await Promise.all(inTime.map(({ ended }) => ended))
  }
}
