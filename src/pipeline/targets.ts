import { isDeepStrictEqual } from 'node:util'
import { defaultRetryPolicy, type DispatchTarget } from '../delivery/index.ts'
import type { AddressGuard } from '../http/index.ts'
import type { Destination } from '../model/index.ts'
import type { Runtime } from '../runtime/index.ts'
import {
  WebhookSender,
  type ComposeRequest,
  type SenderOptions,
  type StandardWebhooksSigning,
} from '../webhook/index.ts'
import type { EndpointShare } from './process-shares.ts'

/** A destination, and what only its sending must know. */
export interface SendingDestination extends Destination {
  /** From a delivery's first attempt to the last moment another may start; the pipeline's by default. */
  readonly retryForMs?: number
  /** Signs in the way of Standard Webhooks too; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Makes the requests; by default the text of the delivery with the destination's headers. */
  readonly compose?: ComposeRequest | undefined
}

/** Learns whether a request to a destination opened a connection or reused one. */
export type ConnectionListener = (use: {
  /** The destination. */
  readonly destinationId: string
  /** Opened for it, or for one before it. */
  readonly kind: Parameters<NonNullable<SenderOptions['onConnection']>>[0]
}) => void

/** Common parts of all targets. */
export interface TargetsOptions {
  /** Time and chance, for senders. */
  readonly runtime: Pick<Runtime, 'clock' | 'random'>
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number | undefined
  /** Time an endpoint has to answer; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number | undefined
  /** Learns of connections to endpoints. */
  readonly connection?: ConnectionListener | undefined
  /** What this process may send to each endpoint; all by default. */
  readonly shareOf?: ((destination: Destination) => EndpointShare) | undefined
}

/** Where events may go, and which addresses may be connected to: any without a guard. */
export interface Sending {
  readonly destinations: readonly SendingDestination[]
  readonly guard?: AddressGuard | undefined
}

/** The targets of a dispatcher. */
export interface ConfiguredTargets {
  readonly targets: readonly DispatchTarget[]
  readonly retired: readonly WebhookSender[]
}

interface Target extends DispatchTarget {
  readonly destination: SendingDestination
  readonly sender: WebhookSender
  readonly guard: AddressGuard | undefined
}

/** What sends to destinations: connections stay open for as long as nothing changes for their destination. */
export class Targets {
  readonly #options: TargetsOptions
  readonly #senders = new Set<WebhookSender>()
  #targets: readonly Target[] = []
  /** What each target may send. */
  #shares: readonly EndpointShare[] = []

  constructor(options: TargetsOptions) {
    this.#options = options
  }

  /**
   * Targets for these destinations from now on; a target for which nothing changes stays as it was.
   *
   * @returns the targets, and the senders that none of them needs any more, to be {@link close}d
   */
  configure({ destinations, guard }: Sending): ConfiguredTargets {
    const before = new Map(this.#targets.map((target) => [target.destination.id, target]))
    this.#targets = destinations.map((destination) => {
      const last = before.get(destination.id)
      if (last?.guard !== guard || !isSentAlike(last, destination)) {
        return this.#newTarget(destination, guard)
      }
      before.delete(destination.id)
      return { ...last, destination }
    })
    for (const { sender } of this.#targets) this.#senders.add(sender)
    this.#shares = this.#currentShares()
    return { targets: this.#shared(), retired: Array.from(before.values(), ({ sender }) => sender) }
  }

  /** The targets with their current shares; undefined if none has changed. */
  share(): readonly DispatchTarget[] | undefined {
    const shares = this.#currentShares()
    if (isDeepStrictEqual(shares, this.#shares)) return undefined
    this.#shares = shares
    return this.#shared()
  }

  /** The destinations that are sent to. */
  get destinationIds(): readonly string[] {
    return this.#targets.map(({ destination }) => destination.id)
  }

  /** Ends the connections of some senders at once, or all. */
  async close(senders: readonly WebhookSender[] = [...this.#senders]): Promise<void> {
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

  #newTarget(destination: SendingDestination, guard: AddressGuard | undefined): Target {
    const { runtime, retryWindowMs, deadlineMs, connection } = this.#options
    const { id: destinationId, standardWebhooks, compose, retryForMs } = destination
    const sender = new WebhookSender({
      destination,
      guard,
      clock: runtime.clock,
      random: runtime.random,
      standardWebhooks,
      compose,
      onConnection: connection && ((kind) => connection({ destinationId, kind })),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    })
    const windowMs = retryForMs ?? retryWindowMs ?? defaultRetryPolicy.windowMs
    return { destination, guard, sender, retryPolicy: { ...defaultRetryPolicy, windowMs } }
  }
}

/** Whether the sender of a target can send to a destination as it is configured now. Rates are no matter of a sender. */
function isSentAlike(
  target: Target | undefined,
  destination: SendingDestination,
): target is Target {
  return isDeepStrictEqual(target && unrated(target.destination), unrated(destination))
}

function unrated(destination: SendingDestination): SendingDestination {
  const endpoints = destination.endpoints.map((endpoint) => ({ ...endpoint, rate: undefined }))
  return { ...destination, endpoints }
}
