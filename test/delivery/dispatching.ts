import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  Dispatcher,
  type DeliveryStore,
  type DispatchTarget,
  type DueTime,
  type LeasedDelivery,
  type NewEvent,
} from '../../src/delivery/index.ts'
import { ManualClock, type Clock } from '../../src/runtime/index.ts'
import { MemoryStore } from '../../src/store/index.ts'
import { checkDestination, type RequestOutcome } from '../../src/webhook/index.ts'
import { recordingRuntime, startMs, type RecordingRuntime } from '../support/recording-runtime.ts'

/** Resolves once everything that can go on without the clock went on. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await nextTurn()
}

/** An endpoint's answer without a body. */
export function answered(status: number, retryAfter?: string): RequestOutcome {
  return { kind: 'answered', status, retryAfter, excerpt: '' }
}

/** Stands in for what sends: does what the test says and keeps count. */
export class ScriptedSender {
  readonly bodies: string[] = []
  inFlightMax = 0
  #inFlight = 0
  readonly #answer: (count: number) => RequestOutcome | Promise<RequestOutcome>

  /** @param answer - is given how many requests were made, this one included */
  constructor(answer: (count: number) => RequestOutcome | Promise<RequestOutcome>) {
    this.#answer = answer
  }

  async post(_endpoint: unknown, body: string): Promise<RequestOutcome> {
    this.#inFlight++
    this.inFlightMax = Math.max(this.inFlightMax, this.#inFlight)
    this.bodies.push(body)
    try {
      return await this.#answer(this.bodies.length)
    } finally {
      this.#inFlight--
    }
  }
}

/** A destination and what stands in for its endpoint. */
export function target(id: string, sender: ScriptedSender, concurrency = 10): DispatchTarget {
  const endpoints = [{ url: `https://example.com/${id}` }]
  const destination = checkDestination({ id, sourceIds: ['website'], endpoints, concurrency })
  return { destination, sender }
}

/** What a dispatcher asks of a store. */
export type Step = 'claim' | 'settle' | 'nextDue'

/** A memory store with something to happen before and after each step; nothing by default. */
export class HookedStore extends MemoryStore {
  before: (step: Step) => Promise<void> = () => Promise.resolve()
  after: (step: Step) => Promise<void> = () => Promise.resolve()

  override claim(
    request: Parameters<DeliveryStore['claim']>[0],
  ): Promise<readonly LeasedDelivery[]> {
    return this.#between('claim', () => super.claim(request))
  }

  override settle(batch: Parameters<DeliveryStore['settle']>[0]): Promise<void> {
    return this.#between('settle', () => super.settle(batch))
  }

  override nextDue(request: Parameters<DeliveryStore['nextDue']>[0]): Promise<readonly DueTime[]> {
    return this.#between('nextDue', () => super.nextDue(request))
  }

  async #between<Result>(step: Step, work: () => Promise<Result>): Promise<Result> {
    await this.before(step)
    const result = await work()
    await this.after(step)
    return result
  }
}

/** A dispatcher, its store, and what it told the runtime. */
export interface Dispatching extends RecordingRuntime {
  readonly dispatcher: Dispatcher
  readonly store: HookedStore
  /** Adds that many events for a destination, without a word to the dispatcher. */
  readonly add: (destinationId: string, count?: number) => Promise<void>
}

/** Puts a dispatcher together; its clock stands still unless another is given. */
export function dispatching(
  targets: readonly DispatchTarget[],
  clock: Clock = new ManualClock(startMs),
): Dispatching {
  const store = new HookedStore()
  const told = recordingRuntime(clock)
  const dispatcher = new Dispatcher({ store, targets, runtime: told.runtime })
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

function eventTo(destinationId: string, messageId: string): NewEvent {
  const deliveries = [{ destinationId, body: messageId }]
  return { sourceId: 'website', messageId, type: 'track', userId: null, deliveries }
}
