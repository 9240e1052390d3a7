import { Client, createInProcessTransport, type RejectedCall } from '../../client/index.ts'
import type { AddOutcome, NewEvent } from '../../delivery/index.ts'
import { checkParsedCall, Intake, planEvent, type AcceptedEvent } from '../../intake/index.ts'
import {
  emptyLedger,
  endpointName,
  isRejectionCode,
  type DeliveryLedger,
  type Destination,
  type JsonObject,
} from '../../model/index.ts'
import type { RoutingDecision, RoutingReason } from '../../router/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import { restyleBody, signBody, type BodyStyle } from '../../webhook/index.ts'
import {
  CallQueue,
  queueOptions,
  noDeletions,
  readDeletion,
  type OfferResult,
  type RowPosition,
  type Outlet,
  type OutletLedger,
  type OutletParts,
} from './outlet.ts'
import {
  commandLineSourceId,
  sourceIdOf,
  type ConfiguredTarget,
  type ServiceTarget,
  type WebhookTarget,
} from './sending-options.ts'

/** Why an event is sent or not. */
export type PlanReason = RoutingReason | 'duplicate'

/** Whether the destination gets an event, and why. */
export type PlanDecision = Omit<RoutingDecision, 'reason'> & { readonly reason: PlanReason }

/** The plan for one event. */
export interface Plan {
  /** The id of the event. */
  readonly messageId: string
  /** The type of the event. */
  readonly type: string
  readonly decision: PlanDecision | undefined
  /** Whether to name the destination, because it comes from a configuration. */
  readonly isNamed?: boolean
  /** The URLs that the event would be sent to. */
  readonly urls: readonly string[]
  /** The names of the static headers for each URL; undefined for a service. */
  readonly headerNames?: readonly (readonly string[])[]
  /** The exact text of the webhook, or of the call for a service; null if nothing is sent. */
  readonly body: string | null
  /** The value of X-Signature; null if the webhook would not be signed. */
  readonly signature: string | null
}

/** An outlet for dry runs: it does everything except sending, and passes on the plans. */
export class DryOutlet implements Outlet {
  readonly #planning: Planning
  readonly #calls: CallQueue

  constructor(
    parts: OutletParts & {
      readonly target: WebhookTarget | ServiceTarget | ConfiguredTarget
      readonly planned: (plan: Plan) => void
    },
  ) {
    const { target, planned, runtime, listener, options } = parts
    this.#planning =
      target.kind === 'service'
        ? new ServicePlanning(target.endpoint, planned)
        : new WebhookPlanning(target, runtime, planned)
    const transport = createInProcessTransport(async ({ calls }) => ({
      rejected: await this.#planning.accept(calls),
    }))
    const client = new Client(commandLineSourceId, {
      ...queueOptions(options),
      runtime,
      transport,
    })
    this.#calls = new CallQueue(client, (call, position) => {
      if (isRejectionCode(call.code)) listener.rejected(position, { ...call, code: call.code })
    })
  }

  async offer(row: JsonObject, position: RowPosition): Promise<OfferResult> {
    if (row['type'] !== 'delete') return this.#calls.offer(row, position)
    await this.#calls.flush()
    return this.#planning.offerDeletion(row)
  }

  finish(): Promise<void> {
    return this.#calls.flush()
  }

  stop(): Promise<void> {
    return this.#calls.close(0)
  }

  /** Nothing is sent, so there are no deliveries. */
  async ledger(): Promise<OutletLedger> {
    return { ...(await this.#planning.ledger()), deliveries: 0, delivered: 0, pending: 0 }
  }

  close(): Promise<void> {
    return this.#calls.close(0)
  }
}

interface Planning {
  /** @returns the rejected calls */
  accept(calls: readonly unknown[]): Promise<readonly RejectedCall[]>
  offerDeletion(row: JsonObject): Promise<OfferResult>
  ledger(): Promise<DeliveryLedger>
}

type PlannedEvent = Pick<AcceptedEvent, 'event' | 'outcome'> & {
  readonly decision: RoutingDecision | undefined
}

/** Plans webhooks with the same intake that sending uses, and stores nothing. */
class WebhookPlanning implements Planning {
  readonly #sourceId: string
  readonly #destinations: readonly Destination[]
  readonly #bodyStyle: BodyStyle | undefined
  readonly #isNamed: boolean
  readonly #planned: (plan: Plan) => void
  readonly #events = new PlannedEvents()
  readonly #intake: Intake

  constructor(
    target: WebhookTarget | ConfiguredTarget,
    runtime: Runtime,
    planned: (plan: Plan) => void,
  ) {
    this.#isNamed = target.kind === 'configured'
    if (target.kind === 'configured') {
      this.#sourceId = target.sourceId
      this.#destinations = target.destinations
    } else {
      this.#sourceId = sourceIdOf(target.destination)
      this.#destinations = [target.destination]
      this.#bodyStyle = target.bodyStyle
    }
    this.#planned = planned
    this.#intake = new Intake({
      add: (events) => Promise.resolve(this.#events.add(events)),
      destinations: this.#destinations,
      runtime,
    })
  }

  async accept(calls: readonly unknown[]): Promise<readonly RejectedCall[]> {
    const results = await this.#intake.accept({ sourceId: this.#sourceId, calls })
    this.#show(results.filter((result) => result.kind === 'accepted'))
    return results.filter((result) => result.kind === 'rejected')
  }

  async offerDeletion(row: JsonObject): Promise<OfferResult> {
    const deletion = readDeletion(row)
    if (deletion.kind === 'rejected') return deletion
    this.#show(await this.#intake.acceptDeletion(deletion, this.#sourceId))
    return { kind: 'taken' }
  }

  ledger(): Promise<DeliveryLedger> {
    return Promise.resolve(this.#events.ledger)
  }

  #show(events: readonly AcceptedEvent[]): void {
    for (const accepted of events) {
      // Intake decides for connected destinations only.
      const { decisions, deliveries } = planEvent(accepted.event, this.#destinations)
      for (const [index, destination] of this.#destinations.entries()) {
        const text = deliveries.find(({ destinationId }) => destinationId === destination.id)?.body
        this.#planned(this.#plan({ ...accepted, decision: decisions[index] }, destination, text))
      }
    }
  }

  #plan(
    { event, outcome, decision }: PlannedEvent,
    destination: Destination,
    text: string | undefined,
  ): Plan {
    const { id, endpoints, sharedSecret, filter } = destination
    const isDuplicate = outcome === 'duplicate'
    const body = isDuplicate || text === undefined ? null : inStyle(text, this.#bodyStyle)
    const isFiltered = decision?.reason === 'filter_not_matched'
    return {
      messageId: event.messageId,
      type: event.type,
      isNamed: this.#isNamed,
      decision: isDuplicate
        ? { destinationId: id, send: false, reason: 'duplicate', hint: undefined }
        : decision && (isFiltered ? { ...decision, hint: filter?.whyNot(event) } : decision),
      urls: endpoints.map(({ url }) => endpointName(url)),
      headerNames: endpoints.map(({ headers }) => Object.keys(headers)),
      body,
      signature: body === null || sharedSecret === undefined ? null : signBody(body, sharedSecret),
    }
  }
}

/** Plans calls for a service, which makes the routing decisions itself. */
class ServicePlanning implements Planning {
  readonly #endpoint: string
  readonly #planned: (plan: Plan) => void
  #taken = 0

  constructor(endpoint: string, planned: (plan: Plan) => void) {
    this.#endpoint = endpoint
    this.#planned = planned
  }

  accept(calls: readonly unknown[]): Promise<readonly RejectedCall[]> {
    return Promise.resolve(calls.flatMap((call, index) => this.#planCall(call, index)))
  }

  offerDeletion(): Promise<OfferResult> {
    return Promise.resolve(noDeletions)
  }

  ledger(): Promise<DeliveryLedger> {
    return Promise.resolve({ ...emptyLedger, accepted: this.#taken, routed: this.#taken })
  }

  /** @returns the rejection of an invalid call, else nothing */
  #planCall(value: unknown, index: number): readonly RejectedCall[] {
    const check = checkParsedCall(value)
    if (check.kind === 'invalid') return [{ ...check, index }]
    this.#taken++
    this.#planned({
      messageId: check.call['messageId'] as string,
      type: check.type,
      decision: undefined,
      urls: [endpointName(this.#endpoint)],
      body: JSON.stringify(check.call),
      signature: null,
    })
    return []
  }
}

function inStyle(body: string, bodyStyle: BodyStyle | undefined): string {
  return bodyStyle === undefined ? body : restyleBody(body, bodyStyle)
}

/** Maximum number of remembered messageIds; the same as for a store in memory. */
const messageIdsMax = 100_000

/** Predicts the outcome of adding events of one source to a store where deliveries end at once. */
export class PlannedEvents {
  /** A Set keeps insertion order, so the first is the oldest. */
  readonly #messageIds = new Set<string>()
  #ledger = emptyLedger

  get ledger(): DeliveryLedger {
    return this.#ledger
  }

  /** Adds events and returns the outcome of each, in order. */
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
    this.#remember(messageId)
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #remember(messageId: string): void {
    const [oldest] = this.#messageIds
    if (oldest !== undefined && this.#messageIds.size >= messageIdsMax) {
      this.#messageIds.delete(oldest)
    }
    this.#messageIds.add(messageId)
  }
}
