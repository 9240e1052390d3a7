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
import { destinationOf } from './samples.ts'

/** Waits until everything that does not need the clock has happened. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await nextTurn()
}

/** Returns whether a promise is settled once everything that does not need the clock has happened. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const note = (): void => {
    settled = true
  }
  promise.then(note, note)
  await quiet()
  return settled
}

/** The answer of a scripted sender. */
export type Answer = (
  /** The number of requests so far, including this one. */
  count: number,
  request: { readonly url: string; readonly body: string },
) => RequestOutcome | Promise<RequestOutcome>

/** A sender whose answers a test determines. It records bodies and counts requests in flight. */
export class ScriptedSender {
  readonly bodies: string[] = []
  inFlightMax = 0
  #inFlight = 0
  answer: Answer

  constructor(answer: Answer) {
    this.answer = answer
  }

  /** The number of requests in flight. */
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

/** Makes a target with one endpoint, from a scripted sender. */
export function target(id: string, sender: ScriptedSender, concurrency = 10): DispatchTarget {
  const endpoints = [{ url: `https://example.com/${id}` }]
  const destination = checkDestination({ id, sourceIds: ['website'], endpoints, concurrency })
  return { destination, sender }
}

/** Makes the target `crm` with the endpoints `a` and `b`, which share a scripted sender. */
export function pair(sender: ScriptedSender, concurrency = 10): DispatchTarget {
  return { destination: destinationOf(2, concurrency), sender }
}

/** The operations that a dispatcher calls on a store. */
export type Step = 'add' | 'claim' | 'settle' | 'nextDue'

/** An in-memory store that counts its calls, with hooks before and after each call. */
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
  /** Adds events for a destination to the store, without telling the dispatcher. */
  readonly add: (destinationId: string, count?: number) => Promise<void>
}

/** Further options of a dispatcher, and its store. */
export type DispatchingOptions = Partial<DispatcherOptions> & { readonly store?: HookedStore }

/** Creates a dispatcher, by default with a manual clock and an in-memory store. */
export function dispatching(
  targets: readonly DispatchTarget[],
  clock: Clock = new ManualClock(startMs),
  options: DispatchingOptions = {},
): Dispatching {
  const store = options.store ?? new HookedStore()
  const recording = recordingRuntime(clock)
  const dispatcher = new Dispatcher({ targets, runtime: recording.runtime, ...options, store })
  let ids = 0
  return {
    ...recording,
    dispatcher,
    store,
    add: async (destinationId, count = 1) => {
      const events = Array.from({ length: count }, () => eventTo(destinationId, `m_${++ids}`))
      await store.add({ nowMs: clock.nowMs(), seenSinceMs: 0, events, handOver: [] })
    },
  }
}

/** Makes an event with one delivery. Its body is the messageId. */
export function eventTo(destinationId: string, messageId: string): NewEvent {
  const deliveries = [{ destinationId, body: messageId }]
  return { sourceId: 'website', messageId, type: 'track', userId: null, deliveries }
}

/** Makes events for a destination, with the messageIds `<prefix>_1`, `<prefix>_2` and so on. */
export function eventsTo(destinationId: string, count: number, prefix = 'e'): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) =>
    eventTo(destinationId, `${prefix}_${index + 1}`),
  )
}

/** Claims all deliveries of a destination and a lane that are due by a given time. */
export function claimAll(
  store: DeliveryStore,
  { destinationId, lane, dueByMs }: { destinationId: string; lane: Lane; dueByMs: number },
): Promise<readonly LeasedDelivery[]> {
  const shares = [{ destinationId, lane, dueByMs, deliveriesMax: 100_000 }]
  return store.claim({ nowMs: dueByMs, shares })
}
