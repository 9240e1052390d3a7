import type { AddOutcome, NewEvent } from '../delivery/index.ts'
import {
  parseTimestamp,
  type AnalyticsEvent,
  type CallCheck,
  type CallType,
  type Destination,
  type Rejection,
} from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import { checkParsedCall, hasUnsafeInteger } from './check-parsed-call.ts'
import { normalise, type Arrival, type Normalised } from './normalise.ts'
import { deletionEvent, planEvent, type DeletionRequest, type EventPlan } from './plan.ts'

const shownIdLengthMax = 100

interface IntakeOptions {
  /** Stores events with their deliveries. Resolves with each event's outcome, in order. */
  readonly add: (
    events: readonly NewEvent[],
    traceparent?: string,
  ) => Promise<readonly AddOutcome[]>
  readonly destinations: readonly Destination[]
  readonly runtime: Runtime
}

/** Calls that arrived together. */
export interface IntakeBatch {
  readonly sourceId: string
  readonly calls: readonly unknown[]
  /** The types of calls that already passed `checkCall`, by index. Calls without a type here are checked. */
  readonly checkedTypes?: readonly (CallType | undefined)[]
  /**
   * When the batch was sent, by the sender's clock, in ISO 8601; null if the sender didn't say. If absent, the sender's
   * clock counts as correct, so timestamps are kept.
   */
  readonly sentAt?: string | null
  /** The trace context to store with the deliveries, as in a `traceparent` header. */
  readonly traceparent?: string | undefined
}

/** An accepted event with its routing, and the store's answer. */
export interface AcceptedEvent extends EventPlan {
  readonly event: AnalyticsEvent
  /** Only `routed` events are delivered. */
  readonly outcome: AddOutcome
}

type RejectedCall = { readonly kind: 'rejected'; readonly index: number } & Rejection

/** What became of one call: an event with its routing, or a rejection. */
export type IntakeResult =
  ({ readonly kind: 'accepted'; readonly index: number } & AcceptedEvent) | RejectedCall

/** The outcome of one call, for callers that don't need its event. */
export type IntakeOutcome =
  { readonly kind: 'accepted'; readonly index: number; readonly outcome: AddOutcome } | RejectedCall

/** A result before the store has answered. Completed in place, to avoid making a second object. */
type Draft<Result> = { -readonly [Field in keyof Result]: Result[Field] }
type PlannedCall = Draft<IntakeResult & { readonly kind: 'accepted' }>
type PlannedOutcome = Draft<IntakeOutcome & { readonly kind: 'accepted' }>

/** Accepts calls: checks, normalises and routes them, builds the bodies, and stores each batch as a whole. */
export class Intake {
  readonly #addEvents: IntakeOptions['add']
  readonly #destinations: readonly Destination[]
  readonly #connected = new Map<string, readonly Destination[]>()
  readonly #runtime: Runtime
  #warnedOfIntegers = false

  constructor(options: IntakeOptions) {
    this.#addEvents = options.add
    this.#destinations = options.destinations
    this.#runtime = options.runtime
  }

  /** Accepts a batch. Once the store has answered, resolves to the result of each call, in order. */
  async accept(batch: IntakeBatch): Promise<readonly IntakeResult[]> {
    const results = this.#planBatch(batch)
    return noteOutcomes(results, this.#add(acceptedOf(results).map(newEvent), batch.traceparent))
  }

  /**
   * Like {@link accept}, but doesn't keep calls and events in memory while the store works: under load, many batches
   * wait for the store, and events take many times the memory of their text.
   */
  async take(batch: IntakeBatch): Promise<readonly IntakeOutcome[]> {
    const results = this.#planBatch(batch)
    const adding = this.#add(acceptedOf(results).map(newEvent), batch.traceparent)
    // Don't await here: the async frame would keep the events alive.
    return noteOutcomes(results.map(bareOutcome), adding)
  }

  #planBatch(batch: IntakeBatch): readonly (PlannedCall | RejectedCall)[] {
    const results: (PlannedCall | RejectedCall)[] = []
    const unreadable: string[] = []
    const arrival = this.#arrival(batch)
    for (const [index, value] of batch.calls.entries()) {
      const check = checkParsedCall(value, batch.checkedTypes?.[index])
      if (check.kind === 'invalid') {
        results.push({ kind: 'rejected', index, code: check.code, message: check.message })
        continue
      }
      const { event, timestampUnreadable } = this.#normalise(check, arrival)
      if (timestampUnreadable) unreadable.push(event.messageId)
      results.push(this.#plan(index, event))
    }
    this.#warnOfTimestamps(batch.sourceId, unreadable)
    return results
  }

  /** Accepts a deletion request: stores an event that notifies every destination of the source, and returns it. */
  async acceptDeletion(
    request: DeletionRequest,
    sourceId: string,
  ): Promise<readonly AcceptedEvent[]> {
    const event = deletionEvent(request, this.#arrival({ sourceId }))
    const planned = [this.#plan(0, event)]
    return noteOutcomes(planned, this.#add(planned.map(newEvent)))
  }

  #plan(index: number, event: AnalyticsEvent): PlannedCall {
    const { decisions, deliveries } = planEvent(event, this.#connectedTo(event.sourceId))
    return { kind: 'accepted', index, event, decisions, deliveries, outcome: 'filtered' }
  }

  #connectedTo(sourceId: string): readonly Destination[] {
    const known = this.#connected.get(sourceId)
    if (known !== undefined) return known
    const connected = this.#destinations.filter(({ sourceIds }) => sourceIds.includes(sourceId))
    this.#connected.set(sourceId, connected)
    return connected
  }

  #normalise(check: CallCheck & { readonly kind: 'valid' }, arrival: Arrival): Normalised {
    const normalised = normalise(check.type, check.call, arrival)
    if (!this.#warnedOfIntegers && hasUnsafeInteger(check.call)) {
      this.#warnedOfIntegers = true
      this.#runtime.log.warn(
        'an integer above 2^53 was rounded; send such ids as strings (logged once)',
        { messageId: shownId(normalised.event.messageId), sourceId: arrival.sourceId },
      )
    }
    return normalised
  }

  /** Warns once per batch, because a sender with one bad timestamp usually has many. */
  #warnOfTimestamps(sourceId: string, [first, ...others]: readonly string[]): void {
    if (first === undefined) return
    this.#runtime.log.warn('cannot read a timestamp: using the time of arrival instead', {
      messageId: shownId(first),
      others: others.length === 0 ? undefined : others.length,
      sourceId,
    })
  }

  #arrival({ sourceId, sentAt }: Pick<IntakeBatch, 'sourceId' | 'sentAt'>): Arrival {
    const { clock, newId } = this.#runtime
    const arrival = { sourceId, receivedAtMs: clock.nowMs(), newId }
    return sentAt === undefined ? arrival : { ...arrival, sentAtMs: parseTimestamp(sentAt) ?? null }
  }

  #add(events: readonly NewEvent[], traceparent?: string): Promise<readonly AddOutcome[]> {
    return events.length === 0 ? Promise.resolve([]) : this.#addEvents(events, traceparent)
  }
}

/** Shortens an id for the log, because clients choose its length. */
function shownId(messageId: string): string {
  return messageId.slice(0, shownIdLengthMax)
}

function acceptedOf<Result extends { readonly kind: string }>(
  results: readonly Result[],
): readonly (Result & { readonly kind: 'accepted' })[] {
  return results.filter(
    (result): result is Result & { readonly kind: 'accepted' } => result.kind === 'accepted',
  )
}

/** Fills in the outcomes of accepted calls once the store has answered. */
async function noteOutcomes<Result extends PlannedOutcome | RejectedCall>(
  results: readonly Result[],
  adding: Promise<readonly AddOutcome[]>,
): Promise<readonly Result[]> {
  const outcomes = await adding
  for (const [position, call] of acceptedOf(results).entries()) {
    call.outcome = outcomes[position] ?? 'filtered'
  }
  return results
}

function bareOutcome(result: IntakeResult): PlannedOutcome | RejectedCall {
  if (result.kind === 'rejected') return result
  return { kind: 'accepted', index: result.index, outcome: result.outcome }
}

function newEvent({ event, deliveries }: PlannedCall): NewEvent {
  const { sourceId, messageId, type, userId = null, previousId } = event
  return { sourceId, messageId, type, userId, previousId, deliveries }
}
