import type { AddOutcome, DeliveryStore, NewEvent } from '../delivery/index.ts'
import {
  checkCall,
  parseTimestamp,
  type AnalyticsEvent,
  type CallCheck,
  type Destination,
  type Rejection,
} from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
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
  /** The moment of sending by the sender's clock, ISO 8601; absent where there is no second clock. */
  readonly sentAt?: string
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
    for (const [index, value] of batch.calls.entries()) {
      const check = checkCall(value)
      if (check.kind === 'valid') accepted.push({ index, event: this.#normalise(check, batch) })
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
    await this.#add([deletionEvent(request, this.#arrival(sourceId))])
  }

  #normalise(check: CallCheck & { readonly kind: 'valid' }, batch: IntakeBatch): AnalyticsEvent {
    const { event, timestampUnreadable } = normalise(check.type, check.call, {
      ...this.#arrival(batch.sourceId),
      sentAtMs: parseTimestamp(batch.sentAt),
    })
    if (timestampUnreadable) {
      this.#runtime.log.warn('timestamp cannot be read, the time of arrival is used', {
        messageId: event.messageId,
      })
    }
    return event
  }

  #arrival(sourceId: string): Arrival {
    const { clock, newId } = this.#runtime
    return { sourceId, receivedAtMs: clock.nowMs(), newId }
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
    this.#warnOfIntegers(event, deliveries[0]?.body)
    return { sourceId, messageId, type, deliveries }
  }

  #warnOfIntegers(event: AnalyticsEvent, body: string | undefined): void {
    if (this.#warnedOfIntegers || body === undefined || !hasUnsafeInteger(event, body)) return
    this.#warnedOfIntegers = true
    this.#runtime.log.warn(
      'an integer above 2^53 was rounded; send such ids as strings (said once)',
      { messageId: event.messageId },
    )
  }
}
