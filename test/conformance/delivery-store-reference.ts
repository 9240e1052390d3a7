import type {
  AddOutcome,
  AddRequest,
  DeliveryFilter,
  DeliveryProgress,
  DueTime,
  EndedCounts,
  LeasedDelivery,
  NewEvent,
  PurgeRequest,
  Settlement,
  Share,
  StoreAudit,
} from '../../src/delivery/index.ts'
import type { DeliveryLedger, EventType, Lane } from '../../src/model/index.ts'

/** A delivery in the reference, identified by its body. */
export interface KnownDelivery {
  readonly destinationId: string
  readonly body: string
  readonly sourceId: string
  readonly messageId: string
  readonly type: EventType
  readonly userId: string | null
  readonly acceptedAtMs: number
  state: 'waiting' | 'leased' | keyof EndedCounts
  lane: Lane
  dueAtMs: number
  progress: DeliveryProgress
  expiresAtMs: number | null
  settledAtMs: number | null
  reason: string | null
  manualRetries: number
  requests: number
}

const noProgress: DeliveryProgress = {
  attempts: 0,
  windowAttempts: 0,
  firstAttemptAtMs: null,
  holds: [],
}

/** A simple model of a store, made of lists and loops. */
export class Reference {
  nowMs: number = Date.UTC(2026, 0, 2)
  /** Every delivery that is not purged, in the order in which they were added. */
  deliveries: KnownDelivery[] = []
  readonly #outcomes: AddOutcome[] = []
  readonly #purged: KnownDelivery[] = []
  #seen: { readonly key: string; readonly atMs: number }[] = []

  add(batch: Omit<AddRequest, 'nowMs'>): {
    readonly outcomes: readonly AddOutcome[]
    readonly leased: readonly string[]
    readonly refused: number
  } {
    const earlier = this.deliveries.length
    const outcomes = batch.events.map((event) => this.#addOne(event, batch.seenSinceMs))
    this.#outcomes.push(...outcomes)
    const added = this.deliveries.slice(earlier)
    const handedOver = batch.handOver.flatMap(({ destinationId, deliveriesMax }) =>
      added
        .filter((known) => known.destinationId === destinationId && known.state === 'waiting')
        .slice(0, deliveriesMax),
    )
    const leased = added.filter((known) => handedOver.includes(known))
    for (const known of leased) known.state = 'leased'
    const refused = added.filter(({ state }) => state === 'failed').length
    return { outcomes, leased: leased.map(({ body }) => body), refused }
  }

  claim({ destinationId, lane, deliveriesMax, dueByMs }: Share): readonly string[] {
    const claimed = this.#inLane(destinationId, lane)
      .filter(({ dueAtMs }) => dueAtMs <= dueByMs)
      .slice(0, deliveriesMax)
    for (const known of claimed) known.state = 'leased'
    return claimed.map(({ body }) => body)
  }

  settle(settlement: Settlement): void {
    const known = this.find(settlement.delivery)
    switch (settlement.kind) {
      case 'retry': {
        const { dueAtMs, expiresAtMs, progress, reason } = settlement
        const next = { lane: 'retry', dueAtMs, expiresAtMs, progress, reason }
        Object.assign(known, { state: 'waiting', ...next })
        break
      }
      case 'returned':
        Object.assign(known, { state: 'waiting', dueAtMs: settlement.dueAtMs })
        break
      case 'delivered':
      case 'failed':
      case 'expired':
        known.state = settlement.kind
        known.progress = { ...known.progress, attempts: settlement.attempts }
        known.settledAtMs = this.nowMs
        known.reason = settlement.kind === 'delivered' ? null : settlement.reason
    }
  }

  nextDue(destinationId: string): readonly DueTime[] {
    return (['first', 'manual', 'retry'] as const).flatMap((lane) =>
      this.#inLane(destinationId, lane)
        .slice(0, 1)
        .map(({ dueAtMs }) => ({ destinationId, lane, dueAtMs })),
    )
  }

  retry(filter: DeliveryFilter, atMs: number): number {
    const chosen = this.list(filter).filter(({ state, lane, settledAtMs, progress }) => {
      if (state === 'failed' || state === 'expired') return settledAtMs! <= atMs
      return state === 'waiting' && lane === 'retry' && progress.firstAttemptAtMs! <= atMs
    })
    for (const known of chosen) {
      known.state = 'waiting'
      known.lane = 'manual'
      known.dueAtMs = atMs
      known.expiresAtMs = null
      known.settledAtMs = null
      known.reason = null
      known.manualRetries++
      known.progress = { ...noProgress, attempts: known.progress.attempts }
    }
    return chosen.length
  }

  purge(request: PurgeRequest): { readonly expired: number; readonly anything: boolean } {
    const old = this.deliveries.filter(({ state, settledAtMs }) => {
      const delivered = state === 'delivered'
      const beforeMs = delivered ? request.deliveredBeforeMs : request.failedBeforeMs
      return settledAtMs !== null && settledAtMs < beforeMs
    })
    this.#purged.push(...old)
    this.deliveries = this.deliveries.filter((known) => !old.includes(known))
    const waiting = this.deliveries.filter(({ state }) => state === 'waiting')
    const { nowMs: settledAtMs, abandonedBeforeMs } = request
    let expired = 0
    for (const known of waiting) {
      const { expiresAtMs, dueAtMs } = known
      const isTried = expiresAtMs !== null
      if (isTried ? expiresAtMs >= settledAtMs : dueAtMs >= abandonedBeforeMs) continue
      const reason = isTried ? 'window_over' : 'abandoned'
      Object.assign(known, { state: 'expired', reason, settledAtMs })
      expired++
    }
    const keys = this.#seen.filter(({ atMs }) => atMs < request.messageIdsBeforeMs)
    this.#seen = this.#seen.filter((key) => !keys.includes(key))
    return { expired, anything: old.length + expired + keys.length > 0 }
  }

  /** Returns the deliveries that match a filter, latest first. */
  list(filter: DeliveryFilter): readonly KnownDelivery[] {
    return this.deliveries
      .filter(
        (known) =>
          (filter.destinationId ?? known.destinationId) === known.destinationId &&
          (filter.messageId ?? known.messageId) === known.messageId &&
          (filter.states ?? [loggedState(known)]).includes(loggedState(known)) &&
          (filter.types ?? [known.type]).includes(known.type),
      )
      .toReversed()
  }

  audit(): StoreAudit {
    const { pending, ...purged } = countStates(this.#purged)
    if (pending > 0) throw new Error('the reference purged a pending delivery')
    return { ledger: this.ledger(), counted: countStates(this.deliveries), purged, withoutBody: 0 }
  }

  ledger(destinationId?: string): DeliveryLedger {
    const outcomes = (name: AddOutcome): number =>
      this.#outcomes.filter((outcome) => outcome === name).length
    const ever = [...this.#purged, ...this.deliveries].filter(
      (known) => (destinationId ?? known.destinationId) === known.destinationId,
    )
    return {
      accepted: this.#outcomes.length,
      routed: outcomes('routed'),
      filtered: outcomes('filtered'),
      duplicate: outcomes('duplicate'),
      suppressed: 0,
      deliveries: ever.length,
      ...countStates(ever),
    }
  }

  find({ body }: Pick<LeasedDelivery, 'body'>): KnownDelivery {
    const known = this.deliveries.find((delivery) => delivery.body === body)
    if (known === undefined) throw new Error(`the reference does not know ${body}`)
    return known
  }

  #addOne(event: NewEvent, seenSinceMs: number): AddOutcome {
    const { sourceId, messageId, type, userId, deliveries } = event
    const key = JSON.stringify([sourceId, messageId])
    if (this.#seen.some((seen) => seen.key === key && seen.atMs >= seenSinceMs)) return 'duplicate'
    this.#seen = [...this.#seen.filter((seen) => seen.key !== key), { key, atMs: this.nowMs }]
    for (const { body, destinationId, backlogMax = Infinity } of deliveries) {
      const isRefused = this.#pendingOf(destinationId) >= backlogMax
      const origin = { destinationId, body, sourceId, messageId, type, userId }
      this.deliveries.push({
        ...origin,
        acceptedAtMs: this.nowMs,
        state: isRefused ? 'failed' : 'waiting',
        lane: 'first',
        dueAtMs: this.nowMs,
        progress: noProgress,
        expiresAtMs: null,
        settledAtMs: isRefused ? this.nowMs : null,
        reason: isRefused ? 'backlog_full' : null,
        manualRetries: 0,
        requests: 0,
      })
    }
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #pendingOf(destinationId: string): number {
    const ofDestination = this.deliveries.filter((known) => known.destinationId === destinationId)
    return ofDestination.filter((known) => loggedState(known) === 'pending').length
  }

  /** Returns the deliveries that wait in a lane, in the order in which they are leased. */
  #inLane(destinationId: string, lane: Lane): readonly KnownDelivery[] {
    // The sort is stable: deliveries that are due at the same time stay in the order of their adding.
    return this.deliveries
      .filter((known) => known.destinationId === destinationId && known.lane === lane)
      .filter(({ state }) => state === 'waiting')
      .toSorted((a, b) => a.dueAtMs - b.dueAtMs)
  }
}

/** Returns the state in the delivery log, which shows waiting and leased deliveries as pending. */
export function loggedState({ state }: KnownDelivery): 'pending' | keyof EndedCounts {
  return state === 'waiting' || state === 'leased' ? 'pending' : state
}

function countStates(deliveries: readonly KnownDelivery[]): StoreAudit['counted'] {
  const counts = { pending: 0, delivered: 0, failed: 0, expired: 0 }
  for (const known of deliveries) counts[loggedState(known)]++
  return counts
}
