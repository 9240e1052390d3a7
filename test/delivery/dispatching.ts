import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Dispatcher,
  type AddRequest,
  type AddResult,
  type ClaimRequest,
  type DeliveryStore,
  type DispatcherOptions,
  type DispatchTarget,
  type DueTime,
  type LeasedDelivery,
  type NewEvent,
  type Settlement,
  type SettleRequest,
} from '../../src/delivery/index.ts'
import type { Endpoint, Lane } from '../../src/model/index.ts'
import { ManualClock, type Clock } from '../../src/runtime/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import {
  checkDestination,
  type OutgoingWebhook,
  type RequestOutcome,
} from '../../src/webhook/index.ts'
import { recordingRuntime, startMs, type RecordingRuntime } from '../support/recording-runtime.ts'

/** Resolves once everything that can go on without the clock went on. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await nextTurn()
}

/** The answer of a scripted sender. */
export type Answer = (
  /** How many requests were made, this one included. */
  count: number,
  request: { readonly url: string; readonly body: string },
) => RequestOutcome | Promise<RequestOutcome>

/** A sender that answers as the test says, and counts requests. */
export class ScriptedSender {
  readonly bodies: string[] = []
  inFlightMax = 0
  #inFlight = 0
  answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }

  /** Requests that are under way. */
  get inFlight(): number {
    return this.#inFlight
  }

  async post({ url }: Endpoint, { body }: OutgoingWebhook): Promise<RequestOutcome> {
    this.#inFlight++
    this.inFlightMax = Math.max(this.inFlightMax, this.#inFlight)
    this.bodies.push(body)
    try {
      return await this.answer(this.bodies.length, { url, body })
    } finally {
      this.#inFlight--
    }
  }
}

/** A destination and the scripted sender of its endpoint. */
export function target(id: string, sender: ScriptedSender, concurrency = 10): DispatchTarget {
  const endpoints = [{ url: `https://example.com/${id}` }]
  const destination = checkDestination({ id, sourceIds: ['website'], endpoints, concurrency })
  return { destination, sender }
}

/** The operations that a dispatcher calls on a store. */
export type Step = 'add' | 'claim' | 'settle' | 'nextDue'

/**
 * A memory store that counts what it is asked, with something to happen before and after each step;
 * nothing by default.
 */
export class HookedStore extends MemoryStore {
  readonly counts: Record<Step, number> = { add: 0, claim: 0, settle: 0, nextDue: 0 }
  before: (step: Step) => Promise<void> = () => Promise.resolve()
  after: (step: Step) => Promise<void> = () => Promise.resolve()

  override add(batch: AddRequest): Promise<AddResult> {
    return this.#between('add', () => super.add(batch))
  }

  override claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    return this.#between('claim', () => super.claim(request))
  }

  override settle(batch: SettleRequest): Promise<readonly Settlement[]> {
    return this.#between('settle', () => super.settle(batch))
  }

  override nextDue(request: Parameters<DeliveryStore['nextDue']>[0]): Promise<readonly DueTime[]> {
    return this.#between('nextDue', () => super.nextDue(request))
  }

  async #between<Result>(step: Step, work: () => Promise<Result>): Promise<Result> {
    this.counts[step]++
    await this.before(step)
    const result = await work()
    await this.after(step)
    return result
  }
}

/** A dispatcher, its store, and its reports to the runtime. */
export interface Dispatching extends RecordingRuntime {
  readonly dispatcher: Dispatcher
  readonly store: HookedStore
  /** Adds that many events for a destination, without a word to the dispatcher. */
  readonly add: (destinationId: string, count?: number) => Promise<void>
}

/** The other parts of a dispatcher. */
export type DispatchingOptions = Partial<DispatcherOptions> & { readonly store?: HookedStore }

/** Puts a dispatcher together; its clock stands still unless another is given. */
export function dispatching(
  targets: readonly DispatchTarget[],
  clock: Clock = new ManualClock(startMs),
  options: DispatchingOptions = {},
): Dispatching {
  const store = options.store ?? new HookedStore()
  const told = recordingRuntime(clock)
  const dispatcher = new Dispatcher({ targets, runtime: told.runtime, ...options, store })
  let ids = 0
  return {
    ...told,
    dispatcher,
    store,
    add: async (destinationId, count = 1) => {
      const events = Array.from({ length: count }, () => eventTo(destinationId, `m_${++ids}`))
      await store.add({ nowMs: clock.nowMs(), seenSinceMs: 0, events, handOver: [] })
    },
  }
}

/** An event with one delivery, whose body is the messageId. */
export function eventTo(destinationId: string, messageId: string): NewEvent {
  const deliveries = [{ destinationId, body: messageId }]
  return { sourceId: 'website', messageId, type: 'track', userId: null, deliveries }
}

/** That many events for a destination: `<prefix>_1` and on. */
export function eventsTo(destinationId: string, count: number, prefix = 'e'): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) =>
    eventTo(destinationId, `${prefix}_${index + 1}`),
  )
}

/** Claims all that a destination has in a lane and that is due by a moment. */
export function claimAll(
  store: DeliveryStore,
  { destinationId, lane, dueByMs }: { destinationId: string; lane: Lane; dueByMs: number },
): Promise<readonly LeasedDelivery[]> {
  const shares = [{ destinationId, lane, dueByMs, deliveriesMax: 100_000 }]
  return store.claim({ nowMs: dueByMs, shares })
}
