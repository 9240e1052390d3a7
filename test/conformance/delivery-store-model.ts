import fc from 'fast-check'
import { expect } from 'vitest'
import type {
  AddOutcome,
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
  Settlement,
  Share,
} from '../../src/delivery/index.ts'
import type { DeliveryLedger } from '../../src/model/index.ts'

const destinationIds = ['crm', 'mail', 'ads'] as const

/** What the reference knows of a delivery; its body identifies it. */
interface ModelDelivery {
  readonly destinationId: string
  state: 'pending' | 'leased' | 'delivered' | 'failed' | 'expired'
  dueAtMs: number
  attempts: number
  firstAttemptAtMs: number | null
  refusedUrls: readonly string[]
}

/** The reference: lists and loops, nothing that an engine would do. */
class Model {
  nowMs = Date.UTC(2026, 0, 2)
  readonly outcomes: AddOutcome[] = []
  readonly deliveries = new Map<string, ModelDelivery>()
  readonly #messageIds = new Set<string>()

  add(events: readonly NewEvent[]): readonly AddOutcome[] {
    const outcomes = events.map((event) => this.#addOne(event))
    this.outcomes.push(...outcomes)
    return outcomes
  }

  /** The deliveries of a destination that can be claimed, by when they are due. */
  dueTimes(destinationId: string): readonly number[] {
    return this.pending(destinationId)
      .map(({ dueAtMs }) => dueAtMs)
      .filter((dueAtMs) => dueAtMs <= this.nowMs)
      .toSorted((a, b) => a - b)
  }

  pending(destinationId: string): readonly ModelDelivery[] {
    return this.#inState('pending').filter((delivery) => delivery.destinationId === destinationId)
  }

  unsettled(destinationId: string): number {
    const leased = this.#inState('leased').filter((one) => one.destinationId === destinationId)
    return this.pending(destinationId).length + leased.length
  }

  settle(settlement: Settlement): void {
    const delivery = this.deliveries.get(settlement.delivery.body)!
    switch (settlement.kind) {
      case 'retry':
        delivery.attempts++
        delivery.dueAtMs = settlement.dueAtMs
        delivery.firstAttemptAtMs = settlement.firstAttemptAtMs
        delivery.refusedUrls = settlement.refusedUrls
        delivery.state = 'pending'
        break
      case 'returned':
        delivery.dueAtMs = this.nowMs
        delivery.state = 'pending'
        break
      case 'delivered':
      case 'failed':
      case 'expired':
        delivery.state = settlement.kind
    }
  }

  ledger(): DeliveryLedger {
    const outcomes = (name: AddOutcome): number =>
      this.outcomes.filter((outcome) => outcome === name).length
    return {
      accepted: this.outcomes.length,
      routed: outcomes('routed'),
      filtered: outcomes('filtered'),
      duplicate: outcomes('duplicate'),
      suppressed: 0,
      deliveries: this.deliveries.size,
      delivered: this.#inState('delivered').length,
      failed: this.#inState('failed').length,
      expired: this.#inState('expired').length,
      pending: this.#inState('pending').length + this.#inState('leased').length,
    }
  }

  #addOne({ sourceId, messageId, deliveries }: NewEvent): AddOutcome {
    const key = JSON.stringify([sourceId, messageId])
    if (this.#messageIds.has(key)) return 'duplicate'
    this.#messageIds.add(key)
    for (const { body, destinationId } of deliveries) {
      this.deliveries.set(body, {
        destinationId,
        state: 'pending',
        dueAtMs: this.nowMs,
        attempts: 0,
        firstAttemptAtMs: null,
        refusedUrls: [],
      })
    }
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #inState(state: ModelDelivery['state']): readonly ModelDelivery[] {
    return [...this.deliveries.values()].filter((delivery) => delivery.state === state)
  }
}

/** The engine, and the leases that it gave out. */
interface Real {
  readonly store: DeliveryStore
  readonly leases: LeasedDelivery[]
  readonly ended: Settlement[]
}

/** One operation on both sides, after which they must agree. */
abstract class Operation implements fc.AsyncCommand<Model, Real> {
  check(): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.operate(model, real)
    expect(await real.store.ledger()).toEqual(model.ledger())
    for (const id of destinationIds) {
      const ids = { destinationIds: [id] }
      const dueTimes = model.pending(id).map(({ dueAtMs }) => dueAtMs)
      const nextDueMs = dueTimes.length === 0 ? undefined : Math.min(...dueTimes)
      expect(await real.store.nextDueMs(ids)).toBe(nextDueMs)
      expect(await real.store.pending(ids)).toBe(model.unsettled(id))
    }
  }

  abstract operate(model: Model, real: Real): Promise<void>
  abstract toString(): string
}

class Add extends Operation {
  readonly #events: readonly NewEvent[]

  constructor(events: readonly NewEvent[]) {
    super()
    this.#events = events
  }

  async operate(model: Model, { store }: Real): Promise<void> {
    const outcomes = await store.add({ nowMs: model.nowMs, events: this.#events })
    expect(outcomes).toEqual(model.add(this.#events))
  }

  toString(): string {
    return `add ${JSON.stringify(this.#events)}`
  }
}

class Claim extends Operation {
  readonly #shares: readonly Share[]
  readonly #passedMs: number

  constructor(shares: readonly Share[], passedMs: number) {
    super()
    this.#shares = shares
    this.#passedMs = passedMs
  }

  async operate(model: Model, { store, leases }: Real): Promise<void> {
    model.nowMs += this.#passedMs
    const claimed = await store.claim({ nowMs: model.nowMs, shares: this.#shares })
    for (const { destinationId, deliveriesMax } of this.#shares) {
      const taken = claimed.filter((delivery) => delivery.destinationId === destinationId)
      // Which of several that are due at the same moment comes first is the engine's choice.
      expect(taken.map(({ body }) => model.deliveries.get(body)?.dueAtMs)).toEqual(
        model.dueTimes(destinationId).slice(0, deliveriesMax),
      )
    }
    for (const delivery of claimed) this.#lease(delivery, model)
    leases.push(...claimed)
  }

  #lease(delivery: LeasedDelivery, model: Model): void {
    const known = model.deliveries.get(delivery.body)!
    const { destinationId, attempts, firstAttemptAtMs, refusedUrls } = known
    expect(known.state).toBe('pending')
    expect(delivery).toMatchObject({ destinationId, attempts, firstAttemptAtMs, refusedUrls })
    known.state = 'leased'
  }

  toString(): string {
    return `claim ${JSON.stringify(this.#shares)} after ${this.#passedMs} ms`
  }
}

interface Ending {
  readonly kind: Settlement['kind']
  readonly lease: number
  readonly delayMs: number
}

class Settle extends Operation {
  readonly #endings: readonly Ending[]

  constructor(endings: readonly Ending[]) {
    super()
    this.#endings = endings
  }

  async operate(model: Model, { store, leases, ended }: Real): Promise<void> {
    const settlements = this.#endings.flatMap((ending) => {
      const [delivery] = leases.splice(ending.lease % Math.max(leases.length, 1), 1)
      return delivery === undefined ? [] : [settlementOf(ending, delivery, model.nowMs)]
    })
    await store.settle({ nowMs: model.nowMs, settlements })
    for (const settlement of settlements) model.settle(settlement)
    ended.push(...settlements.filter(({ kind }) => kind !== 'returned'))
  }

  toString(): string {
    return `settle ${JSON.stringify(this.#endings)}`
  }
}

/** Settles leases that ended long ago; the reference takes no notice, nor may the engine. */
class SettleAgain extends Operation {
  async operate(model: Model, { store, ended }: Real): Promise<void> {
    await store.settle({ nowMs: model.nowMs, settlements: ended })
  }

  toString(): string {
    return 'settle again'
  }
}

function settlementOf(ending: Ending, delivery: LeasedDelivery, nowMs: number): Settlement {
  switch (ending.kind) {
    case 'delivered':
      return { kind: 'delivered', delivery, requests: [] }
    case 'failed':
    case 'expired':
      return { kind: ending.kind, delivery, reason: 'status_404', requests: [] }
    case 'retry':
      return {
        kind: 'retry',
        delivery,
        dueAtMs: nowMs + ending.delayMs,
        firstAttemptAtMs: delivery.firstAttemptAtMs ?? nowMs,
        refusedUrls: [...delivery.refusedUrls, `https://example.com/${delivery.attempts}`],
        requests: [],
      }
    case 'returned':
      return { kind: 'returned', delivery }
  }
}

const eventArbitrary: fc.Arbitrary<NewEvent> = fc
  .record({
    sourceId: fc.constantFrom('website', 'app'),
    messageId: fc.constantFrom('m_1', 'm_2', 'm_3', 'm_4', 'm_5', 'm_6', 'm_7', 'm_8'),
    destinations: fc.subarray([...destinationIds]),
  })
  .map(({ sourceId, messageId, destinations }) => ({
    sourceId,
    messageId,
    type: 'track',
    deliveries: destinations.map((destinationId) => ({
      destinationId,
      body: JSON.stringify({ sourceId, messageId, destinationId }),
    })),
  }))

const shareArbitrary: fc.Arbitrary<Share> = fc.record({
  destinationId: fc.constantFrom(...destinationIds),
  deliveriesMax: fc.nat(4),
})

const endingArbitrary: fc.Arbitrary<Ending> = fc.record({
  kind: fc.constantFrom('delivered', 'failed', 'expired', 'retry', 'returned'),
  lease: fc.nat(20),
  delayMs: fc.integer({ min: 1, max: 5_000 }),
})

const operations = fc.commands(
  [
    fc.array(eventArbitrary, { maxLength: 6 }).map((events) => new Add(events)),
    fc
      .tuple(
        fc.uniqueArray(shareArbitrary, { selector: ({ destinationId }) => destinationId }),
        fc.nat(3_000),
      )
      .map(([shares, passedMs]) => new Claim(shares, passedMs)),
    fc.array(endingArbitrary, { maxLength: 6 }).map((endings) => new Settle(endings)),
    fc.constant(new SettleAgain()),
  ],
  { maxCommands: 40, size: 'max' },
)

/** Does the same at random to an engine and to the reference, which must agree after each step. */
export async function checkAgainstModel(open: () => Promise<DeliveryStore>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(operations, async (commands) => {
      const store = await open()
      const setup = (): { model: Model; real: Real } => ({
        model: new Model(),
        real: { store, leases: [], ended: [] },
      })
      await fc.asyncModelRun(setup, commands)
      await store.close()
    }),
    { numRuns: 60 },
  )
}
