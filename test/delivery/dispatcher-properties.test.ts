import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Dispatcher, type DispatchTarget } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { checkDestination, type RequestOutcome } from '../../src/webhook/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'
import { eventsTo, HookedStore, quiet, ScriptedSender } from './dispatching.ts'
import { answered } from './samples.ts'

const hourMs = 60 * 60 * 1_000

type Behaviour = '200' | '500' | '404' | '429' | 'timeout' | 'interrupted' | 'hang'

const behaviours: readonly Behaviour[] = [
  '200',
  '500',
  '404',
  '429',
  'timeout',
  'interrupted',
  'hang',
]

/** Endpoints that follow a list of behaviours, request by request, until they are healed. */
class Endpoints {
  readonly sender: ScriptedSender
  readonly #hanging: (() => void)[] = []
  readonly #behaviours: readonly Behaviour[]
  #next = 0
  #healed = false

  constructor(list: readonly Behaviour[]) {
    this.#behaviours = list
    this.sender = new ScriptedSender(() => this.#answer())
  }

  /** Ends all hanging requests. */
  release(): void {
    for (const end of this.#hanging.splice(0)) end()
  }

  /** Makes all further requests succeed. */
  heal(): void {
    this.#healed = true
    this.release()
  }

  async #answer(): Promise<RequestOutcome> {
    const behaviour = this.#behaviours[this.#next++ % this.#behaviours.length]
    if (this.#healed || behaviour === undefined) return answered(200)
    switch (behaviour) {
      case '200':
      case '500':
      case '404':
        return answered(Number(behaviour))
      case '429':
        return answered(429, '100')
      case 'timeout':
      case 'interrupted':
        return { kind: behaviour }
      case 'hang':
        await new Promise<void>((resolve) => this.#hanging.push(resolve))
        return { kind: 'timeout' }
    }
  }
}

type Step =
  | { readonly kind: 'add'; readonly count: number }
  | { readonly kind: 'advance'; readonly durationMs: number }
  | { readonly kind: 'jump'; readonly byMs: number }
  | { readonly kind: 'retryManually' | 'release' | 'restart' }

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), count: fc.nat(30) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      durationMs: fc.oneof(fc.nat(60_000), fc.nat(hourMs)),
    }),
  },
  fc.record({
    kind: fc.constant('jump' as const),
    byMs: fc.integer({ min: -hourMs, max: hourMs }),
  }),
  fc.constant({ kind: 'retryManually' as const }),
  fc.constant({ kind: 'release' as const }),
  fc.constant({ kind: 'restart' as const }),
)

/** One store, with one dispatcher after the other. */
class Deliverers {
  readonly clock = new ManualClock(startMs)
  readonly store = new HookedStore({ endedMax: 1_000_000 })
  readonly recording = recordingRuntime(this.clock)
  readonly endpoints: Endpoints
  routed = 0
  #dispatcher: Dispatcher
  readonly #targets: readonly DispatchTarget[]

  constructor(urls: number, concurrency: number, list: readonly Behaviour[]) {
    this.endpoints = new Endpoints(list)
    const endpoints = ['a', 'b', 'c'].slice(0, urls).map((name) => ({
      url: `https://example.com/${name}`,
    }))
    const settings = { id: 'crm', sourceIds: ['website'], endpoints, concurrency }
    this.#targets = [{ destination: checkDestination(settings), sender: this.endpoints.sender }]
    this.#dispatcher = this.#start()
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'add':
        this.routed += step.count
        await this.#dispatcher.add(eventsTo('crm', step.count, `e${this.routed}`))
        return
      case 'advance':
        return this.clock.advance(step.durationMs)
      case 'jump':
        this.clock.jump(step.byMs)
        return
      case 'retryManually':
        await this.store.retry({ nowMs: this.clock.nowMs(), filter: {}, limit: 5 })
        this.#dispatcher.wake()
        return
      case 'release':
        this.endpoints.release()
        return
      case 'restart': {
        const stopped = this.#dispatcher.stop()
        this.endpoints.release()
        await stopped
        this.#dispatcher = this.#start()
        this.#dispatcher.wake()
        return
      }
    }
  }

  /** Heals the endpoints, and waits until the dispatcher is idle, for at most a week of the clock. */
  async end(): Promise<boolean> {
    let idle = false as boolean
    this.endpoints.heal()
    void this.#dispatcher.idle().then(() => {
      idle = true
    })
    for (let hour = 0; hour < 7 * 24 && !idle; hour++) {
      await this.clock.advance(hourMs)
      await quiet()
    }
    return idle
  }

  #start(): Dispatcher {
    return new Dispatcher({
      store: this.store,
      targets: this.#targets,
      runtime: this.recording.runtime,
    })
  }
}

test('every delivery ends exactly once, whatever happens', async () => {
  const settings = fc.record({
    urls: fc.integer({ min: 1, max: 3 }),
    concurrency: fc.integer({ min: 1, max: 12 }),
    list: fc.array(fc.constantFrom(...behaviours), { minLength: 1, maxLength: 40 }),
  })
  const property = fc.asyncProperty(
    settings,
    fc.array(steps, { minLength: 1, maxLength: 25 }),
    async ({ urls, concurrency, list }, taken) => {
      // If our side interrupts every request, no delivery ever ends.
      fc.pre(list.some((one) => one !== 'interrupted'))
      const deliverers = new Deliverers(urls, concurrency, list)
      for (const step of taken) await deliverers.take(step)
      expect(await deliverers.end()).toBe(true)
      const { ledger, counted, purged } = await deliverers.store.audit()
      const { delivered, failed, expired, pending, deliveries } = ledger
      expect(pending).toBe(0)
      expect(deliveries).toBe(deliverers.routed)
      expect(delivered + failed + expired).toBe(deliverers.routed)
      expect(counted).toEqual({ delivered, failed, expired, pending })
      expect(purged).toEqual({ delivered: 0, failed: 0, expired: 0 })
      // Each end is reported once, except those that were retried manually.
      const retried = await manualRetriesIn(deliverers.store)
      expect(deliverers.recording.settled.length).toBeGreaterThanOrEqual(deliverers.routed)
      expect(deliverers.recording.settled.length).toBeLessThanOrEqual(deliverers.routed + retried)
      const messageIds = new Set(deliverers.recording.settled.map(({ messageId }) => messageId))
      expect(messageIds.size).toBe(deliverers.routed)
      expect(deliverers.endpoints.sender.inFlight).toBe(0)
      expect(deliverers.endpoints.sender.inFlightMax).toBeLessThanOrEqual(urls * concurrency)
      expect(deliverers.clock.nextDueMs()).toBeUndefined()
    },
  )
  await fc.assert(property, { numRuns: 100 })
})

async function manualRetriesIn(store: HookedStore): Promise<number> {
  const all = await store.list({ filter: {}, limit: 100_000 })
  return all.reduce((sum, { manualRetries }) => sum + manualRetries, 0)
}
