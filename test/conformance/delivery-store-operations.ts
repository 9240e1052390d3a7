import { expect } from 'vitest'
import type fc from 'fast-check'
import type {
  ChangePosition,
  DeliveryFilter,
  DeliveryStore,
  LeasedDelivery,
  LoggedDelivery,
  NewEvent,
  Room,
  Settlement,
  Share,
} from '../../src/delivery/index.ts'
import { loggedState, type KnownDelivery, type Reference } from './delivery-store-reference.ts'
import { addAndLease, nowMs, requestOf } from './store-under-test.ts'

/** The destinations in the operations. */
export const destinationIds = ['crm', 'mail', 'ads'] as const

/** The engine, its current leases, and the settlements of those that ended. */
export interface Real {
  readonly store: DeliveryStore
  readonly leases: LeasedDelivery[]
  readonly ended: Settlement[]
}

/** An operation on the engine and the reference, which must agree after it. */
export abstract class Operation implements fc.AsyncCommand<Reference, Real> {
  check(): boolean {
    return true
  }

  async run(reference: Reference, real: Real): Promise<void> {
    await this.operate(reference, real)
    const { store } = real
    const audit = reference.audit()
    expect(await store.ledger()).toEqual(audit.ledger)
    expect(await store.audit()).toEqual(audit)
    for (const id of destinationIds) {
      expect(await store.ledger({ destinationId: id })).toEqual(reference.ledger(id))
      const dueTimes = await store.nextDue({ nowMs, destinationIds: [id] })
      expect(dueTimes.toSorted((a, b) => (a.lane < b.lane ? -1 : 1))).toEqual(reference.nextDue(id))
    }
    expectSameList(await store.list({ filter: {}, limit: 1_000 }), reference.list({}))
  }

  abstract operate(reference: Reference, real: Real): Promise<void>
  abstract toString(): string
}

function expectSameList(
  listed: readonly LoggedDelivery[],
  expected: readonly KnownDelivery[],
): void {
  expect(listed).toMatchObject(expected.map(asListed))
}

function asListed(known: KnownDelivery): Partial<LoggedDelivery> {
  const { destinationId, messageId, userId, lane, dueAtMs, settledAtMs, reason } = known
  const { manualRetries, acceptedAtMs, progress, expiresAtMs } = known
  const state = loggedState(known)
  const common = { destinationId, messageId, userId, lane, settledAtMs, reason, manualRetries }
  // An engine may drop the progress of an ended delivery, except the attempts.
  return state === 'pending'
    ? { ...common, ...progress, state, acceptedAtMs, dueAtMs, expiresAtMs }
    : { ...common, attempts: progress.attempts, state, acceptedAtMs, dueAtMs: null }
}

/** Compares leased deliveries with the reference, and keeps their leases. */
function keepLeases(
  leased: readonly LeasedDelivery[],
  reference: Reference,
  { leases }: Real,
): void {
  for (const delivery of leased) {
    const known = reference.find(delivery)
    const { destinationId, messageId, type, lane, acceptedAtMs, dueAtMs, progress } = known
    const origin = { destinationId, messageId, type, acceptedAtMs }
    expect(delivery).toMatchObject({ ...origin, lane, dueAtMs, ...progress })
  }
  leases.push(...leased)
}

/** A planned event, without its number. */
export interface PlannedEvent {
  readonly sourceId: string
  readonly messageId: string
  readonly type: NewEvent['type']
  readonly destinations: readonly string[]
}

/** Adds events, and leases deliveries at once as far as there is room. */
export class Add extends Operation {
  readonly #planned: readonly PlannedEvent[]
  readonly #handOver: readonly Room[]
  readonly #windowMs: number

  constructor(planned: readonly PlannedEvent[], handOver: readonly Room[], windowMs: number) {
    super()
    this.#planned = planned
    this.#handOver = handOver
    this.#windowMs = windowMs
  }

  async operate(reference: Reference, real: Real): Promise<void> {
    const { nowMs } = reference
    const events = this.#planned.map((planned, index) => this.#event(planned, reference, index))
    const batch = { events, seenSinceMs: nowMs - this.#windowMs, handOver: this.#handOver }
    const expected = reference.add(batch)
    const { outcomes, leased, refused } = await addAndLease(real.store, { nowMs, ...batch })
    expect(outcomes).toEqual(expected.outcomes)
    expect(refused.reduce((sum, { deliveries }) => sum + deliveries, 0)).toBe(expected.refused)
    // The order among the destinations of one event is undefined.
    expect(leased.map(({ body }) => body).toSorted()).toEqual(expected.leased.toSorted())
    const eventOf = ({ body }: LeasedDelivery): string => body.split(' ')[0]!
    const indexes = leased.map((delivery) =>
      events.findIndex((e) => e.userId === eventOf(delivery)),
    )
    expect(indexes).toEqual(indexes.toSorted((a, b) => a - b))
    keepLeases(leased, reference, real)
  }

  /** Numbers events in their userIds and bodies, because messageIds can repeat. */
  #event(planned: PlannedEvent, reference: Reference, index: number): NewEvent {
    const { destinations, ...origin } = planned
    const userId = `u_${reference.ledger().accepted + index}`
    const deliveries = destinations.map((destinationId) => ({
      destinationId,
      body: `${userId} to ${destinationId}`,
      // One destination has a limit that is often reached.
      ...(destinationId === destinationIds[1] ? { backlogMax: 4 } : {}),
    }))
    return { ...origin, userId, deliveries }
  }

  toString(): string {
    const room = JSON.stringify(this.#handOver)
    return `add ${JSON.stringify(this.#planned)} room ${room} window ${this.#windowMs} ms`
  }
}

/** A share whose `dueByMs` is relative to now. */
export interface PlannedShare {
  readonly destinationId: string
  readonly lane: Share['lane']
  readonly deliveriesMax: number
  readonly aheadMs: number
}

/** Lets time pass, and claims. */
export class Claim extends Operation {
  readonly #planned: readonly PlannedShare[]
  readonly #passedMs: number

  constructor(planned: readonly PlannedShare[], passedMs: number) {
    super()
    this.#planned = planned
    this.#passedMs = passedMs
  }

  async operate(reference: Reference, real: Real): Promise<void> {
    reference.nowMs += this.#passedMs
    const { nowMs } = reference
    const shares = this.#planned.map(({ aheadMs, ...share }) => ({
      ...share,
      dueByMs: nowMs + aheadMs,
    }))
    const claimed = await real.store.claim({ nowMs, shares })
    let count = 0
    for (const share of shares) {
      const leased = claimed.filter(
        ({ destinationId, lane }) => destinationId === share.destinationId && lane === share.lane,
      )
      expect(leased.map(({ body }) => body)).toEqual(reference.claim(share))
      count += leased.length
    }
    expect(claimed).toHaveLength(count)
    keepLeases(claimed, reference, real)
  }

  toString(): string {
    return `claim ${JSON.stringify(this.#planned)} after ${this.#passedMs} ms`
  }
}

/** How a lease ends. `lease` is its index, modulo the number of leases. */
export interface Ending {
  readonly kind: Settlement['kind']
  readonly lease: number
  readonly delayMs: number
  readonly requests: number
}

/** Settles leases, and logs requests. */
export class Settle extends Operation {
  readonly #endings: readonly Ending[]

  constructor(endings: readonly Ending[]) {
    super()
    this.#endings = endings
  }

  async operate(reference: Reference, { store, leases, ended }: Real): Promise<void> {
    const { nowMs } = reference
    const pairs = this.#endings.flatMap((ending) => {
      const [delivery] = leases.splice(ending.lease % Math.max(leases.length, 1), 1)
      return delivery === undefined ? [] : [{ ending, delivery }]
    })
    const settlements = pairs.map(({ ending, delivery }) => settlementOf(ending, delivery, nowMs))
    const requests = pairs.flatMap(({ ending, delivery }) =>
      Array.from({ length: ending.requests }, () => requestOf(delivery, { atMs: nowMs })),
    )
    await store.settle({ nowMs, settlements, requests })
    for (const settlement of settlements) reference.settle(settlement)
    for (const { ending, delivery } of pairs) reference.find(delivery).requests += ending.requests
    ended.push(...settlements)
  }

  toString(): string {
    return `settle ${JSON.stringify(this.#endings)}`
  }
}

/** Settles leases that have already ended, which must change nothing. */
export class SettleAgain extends Operation {
  async operate({ nowMs }: Reference, { store, ended }: Real): Promise<void> {
    await store.settle({ nowMs, settlements: ended, requests: [] })
  }

  toString(): string {
    return 'settle again'
  }
}

/** Retries deliveries manually that failed `agoMs` ago or earlier. */
export class Retry extends Operation {
  readonly #filter: DeliveryFilter
  readonly #agoMs: number

  constructor(filter: DeliveryFilter, agoMs: number) {
    super()
    this.#filter = filter
    this.#agoMs = agoMs
  }

  async operate(reference: Reference, { store }: Real): Promise<void> {
    const nowMs = reference.nowMs - this.#agoMs
    let total = 0
    let after: ChangePosition | undefined
    do {
      const { deliveries, next } = await store.retry({
        nowMs,
        filter: this.#filter,
        limit: 2,
        after,
      })
      total += deliveries
      after = next ?? undefined
    } while (after !== undefined)
    expect(total).toBe(reference.retry(this.#filter, nowMs))
  }

  toString(): string {
    return `retry ${JSON.stringify(this.#filter)} as of ${this.#agoMs} ms ago`
  }
}

/** The ages from which a purge deletes or abandons rows. */
export interface Ages {
  readonly delivered: number
  readonly failed: number
  readonly abandoned: number
  readonly messageIds: number
}

/** Purges old rows. */
export class Purge extends Operation {
  readonly #ages: Ages

  constructor(ages: Ages) {
    super()
    this.#ages = ages
  }

  async operate(reference: Reference, { store }: Real): Promise<void> {
    const { nowMs } = reference
    const request = {
      nowMs,
      deliveredBeforeMs: nowMs - this.#ages.delivered,
      failedBeforeMs: nowMs - this.#ages.failed,
      abandonedBeforeMs: nowMs - this.#ages.abandoned,
      messageIdsBeforeMs: nowMs - this.#ages.messageIds,
      rowsMax: 1_000,
    }
    const result = await store.purge(request)
    const expired = result.expired.reduce((sum, { deliveries }) => sum + deliveries, 0)
    expect({ expired, anything: result.rows > 0 }).toEqual(reference.purge(request))
  }

  toString(): string {
    return `purge ${JSON.stringify(this.#ages)}`
  }
}

/** Lists deliveries by a filter, and reads the first five in full. */
export class Read extends Operation {
  readonly #filter: DeliveryFilter

  constructor(filter: DeliveryFilter) {
    super()
    this.#filter = filter
  }

  async operate(reference: Reference, { store }: Real): Promise<void> {
    const expected = reference.list(this.#filter)
    const listed = await store.list({ filter: this.#filter, limit: 1_000 })
    expectSameList(listed, expected)
    for (const [index, { destinationId, id }] of listed.slice(0, 5).entries()) {
      const story = await store.story({ destinationId, id })
      const known = expected[index]!
      expect(story).toMatchObject({ ...asListed(known), body: known.body })
      expect(story?.requests).toHaveLength(known.requests)
    }
  }

  toString(): string {
    return `read ${JSON.stringify(this.#filter)}`
  }
}

function settlementOf(ending: Ending, delivery: LeasedDelivery, nowMs: number): Settlement {
  const attempts = delivery.attempts + 1
  const dueAtMs = nowMs + ending.delayMs
  switch (ending.kind) {
    case 'delivered':
      return { kind: 'delivered', delivery, attempts }
    case 'failed':
    case 'expired':
      return { kind: ending.kind, delivery, attempts, reason: 'status_404' }
    case 'retry': {
      const hold = {
        url: `https://example.com/${attempts}`,
        untilMs: attempts % 2 ? null : dueAtMs,
      }
      const progress = {
        attempts,
        windowAttempts: delivery.windowAttempts + 1,
        firstAttemptAtMs: delivery.firstAttemptAtMs ?? nowMs,
        holds: [...delivery.holds, hold],
      }
      const next = {
        dueAtMs,
        expiresAtMs: nowMs + 900,
        progress,
        reason: `status_${500 + attempts}`,
      }
      return { kind: 'retry', delivery, ...next }
    }
    case 'returned':
      return { kind: 'returned', delivery, dueAtMs }
  }
}
