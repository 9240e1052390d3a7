import type { AddOutcome, DeliveryStore, NewEvent } from '../delivery/index.ts'
import {
  parseTimestamp,
  type AnalyticsEvent,
  type CallCheck,
  type Destination,
  type Rejection,
} from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { checkParsedCall } from './check-parsed-call.ts'
import { normalise, type Arrival } from './normalise.ts'
import { deletionEvent, planEvent, type DeletionRequest } from './plan.ts'
import { hasUnsafeInteger } from './unsafe-integers.ts'

/** What intake is made of. */
export interface IntakeOptions {
  /** Where the deliveries of accepted events wait. */
  readonly store: DeliveryStore
  /** Where events may go. */
  readonly destinations: readonly Destination[]
  /** Clock, ids and log. */
  readonly runtime: Runtime
  /** Is called after deliveries were stored. */
  readonly onStored: () => void
}

/** Calls that arrived together. */
export interface IntakeBatch {
  /** The source that sent them. */
  readonly sourceId: string
  /** The calls, parsed but not checked. */
  readonly calls: readonly unknown[]
  /**
   * The moment of sending by the sender's clock, ISO 8601; null when the sender does not say it.
   * Absent where there is no second clock: no timestamp is corrected then.
   */
  readonly sentAt?: string | null
}

/** What became of one call. */
export type IntakeResult =
  | { readonly kind: 'accepted'; readonly messageId: string; readonly outcome: AddOutcome }
  | ({ readonly kind: 'rejected'; readonly index: number } & Rejection)

/** Takes calls in: checks, normalises, routes, builds the bodies, and stores all of it at once. */
export class Intake {
  readonly #store: DeliveryStore
  readonly #destinations: readonly Destination[]
  readonly #runtime: Runtime
  readonly #onStored: () => void
  #warnedOfIntegers = false

  constructor(options: IntakeOptions) {
    this.#store = options.store
    this.#destinations = options.destinations
    this.#runtime = options.runtime
    this.#onStored = options.onStored
  }

  /**
   * Takes a batch in. Calls that cannot be accepted cost nobody else.
   *
   * @returns what became of each call, in order, once the accepted ones are stored
   */
  async accept(batch: IntakeBatch): Promise<readonly IntakeResult[]> {
    const results: IntakeResult[] = []
    const accepted: { readonly index: number; readonly event: AnalyticsEvent }[] = []
    const arrival = this.#arrival(batch)
    for (const [index, value] of batch.calls.entries()) {
      const check = checkParsedCall(value)
      if (check.kind === 'valid') accepted.push({ index, event: this.#normalise(check, arrival) })
      else results[index] = { ...check, kind: 'rejected', index }
    }
    const outcomes = await this.#add(accepted.map(({ event }) => event))
    for (const [position, { index, event }] of accepted.entries()) {
      const outcome = outcomes[position] ?? 'filtered'
      results[index] = { kind: 'accepted', messageId: event.messageId, outcome }
    }
    return results
  }

  /** Makes a deletion request known to every destination that the source is connected to. */
  async acceptDeletion(request: DeletionRequest, sourceId: string): Promise<void> {
    await this.#add([deletionEvent(request, this.#arrival({ sourceId }))])
  }

  #normalise(check: CallCheck & { readonly kind: 'valid' }, arrival: Arrival): AnalyticsEvent {
    const { event, timestampUnreadable } = normalise(check.type, check.call, arrival)
    const { messageId } = event
    const { log } = this.#runtime
    if (timestampUnreadable) {
      log.warn('timestamp cannot be read, the time of arrival is used', { messageId })
    }
    if (!this.#warnedOfIntegers && hasUnsafeInteger(check.call)) {
      this.#warnedOfIntegers = true
      log.warn('an integer above 2^53 was rounded; send such ids as strings (said once)', {
        messageId,
      })
    }
    return event
  }

  #arrival({ sourceId, sentAt }: Pick<IntakeBatch, 'sourceId' | 'sentAt'>): Arrival {
    const { clock, newId } = this.#runtime
    const arrival = { sourceId, receivedAtMs: clock.nowMs(), newId }
    return sentAt === undefined ? arrival : { ...arrival, sentAtMs: parseTimestamp(sentAt) ?? null }
  }

  async #add(events: readonly AnalyticsEvent[]): Promise<readonly AddOutcome[]> {
    if (events.length === 0) return []
    const outcomes = await this.#store.add({
      nowMs: this.#runtime.clock.nowMs(),
      events: events.map((event) => this.#planned(event)),
    })
    this.#onStored()
    return outcomes
  }

  #planned(event: AnalyticsEvent): NewEvent {
    const { deliveries } = planEvent(event, this.#destinations)
    const { sourceId, messageId, type } = event
    return { sourceId, messageId, type, deliveries }
  }
}
