import { Client, createInProcessTransport, type RejectedCall } from '../../client/index.ts'
import {
  checkParsedCall,
  deletionEvent,
  normalise,
  planEvent,
  type Arrival,
} from '../../intake/index.ts'
import {
  emptyLedger,
  isRejectionCode,
  type AnalyticsEvent,
  type Destination,
  type JsonObject,
} from '../../model/index.ts'
import type { RoutingDecision } from '../../router/index.ts'
import { signBody } from '../../webhook/index.ts'
import { CallQueue, type OfferResult } from './call-queue.ts'
import { noDeletions, readDeletion } from './deletion.ts'
import type { Outlet, OutletLedger, OutletParts } from './outlet.ts'
import { commandLineSourceId, type SendingTarget } from './sending-options.ts'

/** What would be sent for one event. */
export interface Plan {
  /** Identifies the event. */
  readonly messageId: string
  /** What it is. */
  readonly type: string
  /** Whether the destination gets it, and why; undefined where a service decides. */
  readonly decision: RoutingDecision | undefined
  /** Where it would be sent. */
  readonly urls: readonly string[]
  /** The exact text of the webhook, or of the call for a service; null when nothing is sent. */
  readonly body: string | null
  /** The value of X-Signature; null when the webhook would not be signed. */
  readonly signature: string | null
}

/** Does all that sending does, but for the sending: it plans, and hands the plans on. */
export class DryOutlet implements Outlet {
  readonly #parts: OutletParts
  readonly #target: SendingTarget
  readonly #planned: (plan: Plan) => void
  readonly #calls: CallQueue
  #routed = 0
  #filtered = 0

  constructor(
    parts: OutletParts & {
      readonly target: SendingTarget
      readonly planned: (plan: Plan) => void
    },
  ) {
    this.#parts = parts
    this.#target = parts.target
    this.#planned = parts.planned
    const transport = createInProcessTransport(({ calls }) => {
      const rejected = calls.flatMap((call, index) => this.#planCall(call, index))
      return Promise.resolve({ rejected })
    })
    const client = new Client(commandLineSourceId, { runtime: parts.runtime, transport })
    this.#calls = new CallQueue(client, (call, line) => {
      if (isRejectionCode(call.code)) parts.listener.rejected(line, { ...call, code: call.code })
    })
  }

  async offer(row: JsonObject, line: number): Promise<OfferResult> {
    if (row['type'] !== 'delete') return this.#calls.offer(row, line)
    const deletion = this.#target.kind === 'service' ? noDeletions : readDeletion(row)
    if (deletion.kind === 'rejected') return deletion
    await this.#calls.flush()
    this.#planEvent(deletionEvent(deletion, this.#arrival()))
    return { kind: 'taken' }
  }

  finish(): Promise<void> {
    return this.#calls.flush()
  }

  stop(): Promise<void> {
    return this.#calls.close(0)
  }

  /** Nothing is stored, so there are no deliveries. */
  ledger(): Promise<OutletLedger> {
    const accepted = this.#routed + this.#filtered
    return Promise.resolve({
      ...emptyLedger,
      accepted,
      routed: this.#routed,
      filtered: this.#filtered,
    })
  }

  close(): Promise<void> {
    return this.#calls.close(0)
  }

  /** @returns the refusal of a call that intake would refuse, else nothing */
  #planCall(value: unknown, index: number): readonly RejectedCall[] {
    const check = checkParsedCall(value)
    if (check.kind === 'invalid') return [{ ...check, index }]
    if (this.#target.kind === 'webhooks') {
      this.#planEvent(normalise(check.type, check.call, this.#arrival()).event)
      return []
    }
    this.#routed++
    this.#planned({
      messageId: check.call['messageId'] as string,
      type: check.type,
      decision: undefined,
      urls: [this.#target.endpoint],
      body: JSON.stringify(check.call),
      signature: null,
    })
    return []
  }

  #planEvent(event: AnalyticsEvent): void {
    if (this.#target.kind !== 'webhooks') return
    this.#planned(this.#plan(event, this.#target.destination))
  }

  #plan(event: AnalyticsEvent, destination: Destination): Plan {
    const { decisions, deliveries } = planEvent(event, [destination])
    const body = deliveries[0]?.body ?? null
    if (body === null) this.#filtered++
    else this.#routed++
    const secret = destination.sharedSecret
    return {
      messageId: event.messageId,
      type: event.type,
      decision: decisions[0],
      urls: destination.endpoints.map(({ url }) => url),
      body,
      signature: body === null || secret === undefined ? null : signBody(body, secret),
    }
  }

  #arrival(): Arrival {
    const { clock, newId } = this.#parts.runtime
    return { sourceId: commandLineSourceId, receivedAtMs: clock.nowMs(), newId }
  }
}
