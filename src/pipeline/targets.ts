import { isDeepStrictEqual } from 'node:util'
import {
  defaultRetryPolicy,
  type DeliverySender,
  type DispatchTarget,
  type LeasedDelivery,
} from '../delivery/index.ts'
import type { AddressGuard } from '../http/index.ts'
import type { Destination, Endpoint } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import {
  WebhookSender,
  type ComposeRequest,
  type RequestOutcome,
  type Sender,
  type SenderOptions,
  type SenderThreads,
  type StandardWebhooksSigning,
} from '../webhook/index.ts'
import type { EndpointShare } from './process-shares.ts'

/** A destination with the settings that only its sender needs. */
export interface SendingDestination extends Destination {
  /** How long to retry a delivery after its first attempt; 4 h by default. */
  readonly retryForMs?: number | undefined
  /** Also signs requests as Standard Webhooks defines; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Composes the requests; by default, from the delivery's text and the destination's headers. */
  readonly compose?: ComposeRequest | undefined
}

/** Sends a request with a trace context: calls `post` once, with the value of the `traceparent` header. */
export type TraceRequest = (
  request: {
    readonly delivery: LeasedDelivery
    readonly endpoint: Endpoint
    readonly destination: Destination
  },
  post: (traceparent: string | undefined) => Promise<RequestOutcome>,
) => Promise<RequestOutcome>

/** The settings of the senders. */
export interface TargetsOptions {
  readonly runtime: Pick<Runtime, 'clock' | 'random' | 'log'>
  /** How long an endpoint may take to answer: at most 5 s, which is the default. */
  readonly deadlineMs?: number | undefined
  /** Called for each request, with whether it opens a connection or reuses one. */
  readonly connection?:
    | ((use: { readonly destinationId: string; readonly kind: 'opened' | 'reused' }) => void)
    | undefined
  /** Sends requests with a trace context; by default, they have none. */
  readonly trace?: TraceRequest | undefined
  /** The threads that send webhooks, which the pipeline closes; this thread by default. */
  readonly senderThreads?: SenderThreads | undefined
  /** Returns how much this process may send to each endpoint; by default, everything. */
  readonly shareOf?: ((destination: Destination) => EndpointShare) | undefined
}

/** The destinations to send to. Without a guard, any address may be connected to. */
export interface Sending {
  readonly destinations: readonly SendingDestination[]
  readonly guard?: AddressGuard | undefined
}

interface Target extends DispatchTarget {
  readonly destination: SendingDestination
  readonly webhookSender: Sender
  readonly guard: AddressGuard | undefined
}

/** Keeps a sender for each destination. The sender keeps its connections open until the destination changes. */
export class Targets {
  readonly #options: TargetsOptions
  readonly #senders = new Set<Sender>()
  #targets: readonly Target[] = []
  /** The share of each target, in the order of the targets. */
  #shares: readonly EndpointShare[] = []

  constructor(options: TargetsOptions) {
    this.#options = options
  }

  /**
   * Replaces the destinations. A target keeps its sender if the settings of the sender stay the same. Returns the
   * targets for a dispatcher, and the senders to {@link close} once the dispatcher no longer uses them.
   */
  configure({ destinations, guard }: Sending): {
    readonly targets: readonly DispatchTarget[]
    readonly retired: readonly Sender[]
  } {
    const before = new Map(this.#targets.map((target) => [target.destination.id, target]))
    this.#targets = destinations.map((destination) => {
      const last = before.get(destination.id)
      if (last?.guard !== guard || !isSentAlike(last, destination)) {
        const webhookSender = this.#newSender(destination, guard)
        return this.#target({ destination, guard, webhookSender })
      }
      before.delete(destination.id)
      return this.#target({ ...last, destination })
    })
    for (const { webhookSender } of this.#targets) this.#senders.add(webhookSender)
    this.#shares = this.#currentShares()
    const retired = Array.from(before.values(), ({ webhookSender }) => webhookSender)
    return { targets: this.#shared(), retired }
  }

  /** Returns the targets with their current shares; undefined if none has changed. */
  share(): readonly DispatchTarget[] | undefined {
    const shares = this.#currentShares()
    if (isDeepStrictEqual(shares, this.#shares)) return undefined
    this.#shares = shares
    return this.#shared()
  }

  get destinationIds(): readonly string[] {
    return this.#targets.map(({ destination }) => destination.id)
  }

  /** Closes the connections of some senders, or of all by default, without waiting for requests in flight. */
  async close(senders: readonly Sender[] = [...this.#senders]): Promise<void> {
    for (const sender of senders) this.#senders.delete(sender)
    await Promise.all(senders.map((sender) => sender.close()))
  }

  #currentShares(): readonly EndpointShare[] {
    const { shareOf } = this.#options
    return shareOf === undefined ? [] : this.#targets.map(({ destination }) => shareOf(destination))
  }

  #shared(): readonly DispatchTarget[] {
    return this.#targets.map((target, index) => ({ ...target, ...this.#shares[index] }))
  }

  #newSender(destination: SendingDestination, guard: AddressGuard | undefined): Sender {
    const { runtime, deadlineMs, connection, senderThreads } = this.#options
    const { id: destinationId, standardWebhooks, compose } = destination
    const options: SenderOptions = {
      destination,
      guard,
      clock: runtime.clock,
      random: runtime.random,
      log: runtime.log,
      standardWebhooks,
      compose,
      onConnection: connection && ((kind) => connection({ destinationId, kind })),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    }
    return senderThreads?.open(options) ?? new WebhookSender(options)
  }

  #target(parts: Pick<Target, 'destination' | 'guard' | 'webhookSender'>): Target {
    const { trace } = this.#options
    const { destination, webhookSender } = parts
    const windowMs = destination.retryForMs ?? defaultRetryPolicy.windowMs
    return {
      ...parts,
      sender: trace === undefined ? webhookSender : traced({ webhookSender, destination, trace }),
      retryPolicy: { ...defaultRetryPolicy, windowMs },
    }
  }
}

function traced({
  webhookSender,
  destination,
  trace,
}: Pick<Target, 'webhookSender' | 'destination'> & {
  readonly trace: TraceRequest
}): DeliverySender {
  return {
    post: (endpoint, delivery) =>
      trace({ delivery, endpoint, destination }, (traceparent) => {
        const { body, messageId } = delivery
        const headers = traceparent === undefined ? undefined : { traceparent }
        return webhookSender.post(endpoint, { body, messageId, headers })
      }),
  }
}

/** Whether the settings that a sender uses are the same for a target and a destination. */
function isSentAlike(target: Target | undefined, next: SendingDestination): target is Target {
  if (target === undefined) return false
  return isDeepStrictEqual(usedBySender(target.destination), usedBySender(next))
}

function usedBySender(destination: SendingDestination) {
  const { sharedSecret, concurrency, standardWebhooks, compose } = destination
  const endpoints = destination.endpoints.map((endpoint) => ({ ...endpoint, rate: undefined }))
  return { endpoints, sharedSecret, concurrency, standardWebhooks, compose }
}
