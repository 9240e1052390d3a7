import type { AddOutcome, NewEvent } from '../../delivery/index.ts'
import { checkParsedCall, Intake, planEvent, type AcceptedEvent } from '../../intake/index.ts'
import {
  emptyLedger,
  endpointName,
  type DeliveryLedger,
  type Destination,
} from '../../model/index.ts'
import type { RoutingDecision, RoutingReason } from '../../router/index.ts'
import { signBody } from '../../webhook/index.ts'
import { intakeQueue, type Outlet, type OutletParts } from './outlet.ts'
import {
  sourceIdOf,
  type ConfiguredTarget,
  type ServiceTarget,
  type WebhookTarget,
} from './sending-options.ts'

/** Why an event would be sent or not. */
export type PlanReason = RoutingReason | 'duplicate'

/** What would happen to one event. */
export interface Plan {
  readonly messageId: string
  readonly type: string
  /** Whether the destination gets the event, and why; undefined if only a service can decide. */
  readonly decision: (Omit<RoutingDecision, 'reason'> & { readonly reason: PlanReason }) | undefined
  /** Whether the destination comes from a configuration, so that its id is worth showing. */
  readonly isNamed?: boolean
  /** The URLs of the destination, without user names and queries. */
  readonly urls: readonly string[]
  /** The names of the static headers for each URL. */
  readonly headerNames?: readonly (readonly string[])[]
  /** The exact text of the webhook, or of the call for a service; null if nothing is sent. */
  readonly body: string | null
  /** The value of X-Signature; null for an unsigned webhook. */
  readonly signature: string | null
}

/** Makes the outlet for dry runs. It does everything except sending, and reports a plan for each event. */
export function dryOutlet(
  parts: OutletParts<WebhookTarget | ServiceTarget | ConfiguredTarget>,
): Outlet {
  const { target } = parts
  return target.kind === 'service'
    ? servicePlanOutlet({ ...parts, target })
    : webhookPlanOutlet({ ...parts, target })
}

/** Plans webhooks with the same intake that sending uses, and stores nothing. */
function webhookPlanOutlet(parts: OutletParts<WebhookTarget | ConfiguredTarget>): Outlet {
  const { target, runtime, report } = parts
  const isNamed = target.kind === 'configured'
  const sourceId = isNamed ? target.sourceId : sourceIdOf(target.destination)
  const destinations = isNamed ? target.destinations : [target.destination]
  const stored = new PlannedEvents()
  const add = (events: readonly NewEvent[]) => Promise.resolve(stored.add(events))
  const intake = new Intake({ add, destinations, runtime })
  const show = (events: readonly AcceptedEvent[]): void => {
    for (const accepted of events) {
      // Intake plans only for connected destinations. Plan for all, to show why the others get nothing.
      const { decisions, deliveries } = planEvent(accepted.event, destinations)
      for (const [index, destination] of destinations.entries()) {
        const delivery = deliveries.find(({ destinationId }) => destinationId === destination.id)
        const decided = { ...accepted, decision: decisions[index] }
        report.planned({ ...planFor(decided, destination, delivery?.body ?? null), isNamed })
      }
    }
  }
  const accept = async (calls: readonly unknown[]) => {
    const results = await intake.accept({ sourceId, calls })
    show(results.filter((result) => result.kind === 'accepted'))
    return results.filter((result) => result.kind === 'rejected')
  }
  const queue = intakeQueue(parts, accept, async (deletion) =>
    show(await intake.acceptDeletion(deletion, sourceId)),
  )
  return { ...queue, stop: queue.close, ledger: () => Promise.resolve(stored.ledger) }
}

type PlannedEvent = Pick<AcceptedEvent, 'event' | 'outcome'> & {
  readonly decision: RoutingDecision | undefined
}

/** @param text - the body; null if the destination gets none */
function planFor(
  { event, outcome, decision }: PlannedEvent,
  { id, endpoints, sharedSecret, filter }: Destination,
  text: string | null,
): Plan {
  const isDuplicate = outcome === 'duplicate'
  const body = isDuplicate ? null : text
  const isFiltered = decision?.reason === 'filter_not_matched'
  return {
    messageId: event.messageId,
    type: event.type,
    decision: isDuplicate
      ? { destinationId: id, send: false, reason: 'duplicate', hint: undefined }
      : decision && (isFiltered ? { ...decision, hint: filter?.whyNot(event) } : decision),
    urls: endpoints.map(({ url }) => endpointName(url)),
    headerNames: endpoints.map(({ headers }) => Object.keys(headers)),
    body,
    signature: body === null || sharedSecret === undefined ? null : signBody(body, sharedSecret),
  }
}

/** Plans calls to a service. The service itself decides about routing. */
function servicePlanOutlet(parts: OutletParts<ServiceTarget>): Outlet {
  const { target, report } = parts
  let taken = 0
  const rejectionOf = (value: unknown, index: number) => {
    const check = checkParsedCall(value)
    if (check.kind === 'invalid') return [{ ...check, index }]
    taken++
    report.planned({
      messageId: check.call['messageId'] as string,
      type: check.type,
      decision: undefined,
      urls: [endpointName(target.endpoint)],
      body: JSON.stringify(check.call),
      signature: null,
    })
    return []
  }
  const queue = intakeQueue(parts, (calls) => Promise.resolve(calls.flatMap(rejectionOf)))
  const ledger = () => Promise.resolve({ ...emptyLedger, accepted: taken, routed: taken })
  return { ...queue, stop: queue.close, ledger }
}

/** Maximum number of remembered messageIds. A store in memory has the same maximum. */
const messageIdsMax = 100_000

/** Counts the events of one source as a store would, but holds no deliveries. Recognises duplicates. */
export class PlannedEvents {
  /** A Set keeps insertion order, so the first is the oldest. */
  readonly #messageIds = new Set<string>()
  #ledger = emptyLedger

  get ledger(): DeliveryLedger {
    return this.#ledger
  }

  add(events: readonly NewEvent[]): readonly AddOutcome[] {
    return events.map((event) => {
      const outcome = this.#outcomeOf(event)
      const { accepted, [outcome]: soFar } = this.#ledger
      this.#ledger = { ...this.#ledger, accepted: accepted + 1, [outcome]: soFar + 1 }
      return outcome
    })
  }

  #outcomeOf({ messageId, deliveries }: NewEvent): AddOutcome {
    if (this.#messageIds.has(messageId)) return 'duplicate'
    this.#messageIds.add(messageId)
    const [oldest = messageId] = this.#messageIds
    if (this.#messageIds.size > messageIdsMax) this.#messageIds.delete(oldest)
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }
}
