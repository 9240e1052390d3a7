import {
  Dispatcher,
  defaultRetryPolicy,
  type AddOutcome,
  type DeliveryStore,
  type DispatchTarget,
  type NewEvent,
} from '../delivery/index.ts'
import type { AddressGuard } from '../http/index.ts'
import { Intake } from '../intake/index.ts'
import type { Destination } from '../model/index.ts'
import { systemClock, type Runtime } from '../runtime/index.ts'
import {
  WebhookSender,
  type SenderOptions,
  type StandardWebhooksSigning,
} from '../webhook/index.ts'
import type { PendingCount } from './pending-count.ts'

/** A destination, and what only its sending must know. */
export interface SendingDestination extends Destination {
  /** From a delivery's first attempt to the last moment another may start; the line's by default. */
  readonly retryForMs?: number
  /** Signs in the way of Standard Webhooks too; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
}

/** Is told whether a request to a destination went over a connection that was opened for it. */
export type ConnectionListener = (use: {
  /** The destination. */
  readonly destinationId: string
  /** Opened for it, or for one before it. */
  readonly kind: Parameters<NonNullable<SenderOptions['onConnection']>>[0]
}) => void

/** What a line is made of. */
export interface LineOptions {
  /** Where events may go. */
  readonly destinations: readonly SendingDestination[]
  /** Where deliveries wait; others may use it too. */
  readonly store: DeliveryStore
  /** Clock, randomness, ids, log and observer. */
  readonly runtime: Runtime
  /** From a delivery's first attempt to the last moment another may start; 4 h by default. */
  readonly retryWindowMs?: number | undefined
  /** Time an endpoint has to answer; 5 s by default and at the most. */
  readonly deadlineMs?: number | undefined
  /** Which addresses may be connected to; any when there is none. */
  readonly guard?: AddressGuard | undefined
  /** For how long a messageId is remembered. */
  readonly dedupeWindowMs: number
  /** Whether deliveries stay parked for as long as their endpoints are down. */
  readonly keepsParked: boolean
  /** Is told of connections to endpoints. */
  readonly connection?: ConnectionListener | undefined
  /** Counts what is added. */
  readonly pending?: PendingCount | undefined
  /** Is told what made the store unusable. */
  readonly failed?: (error: unknown) => void
}

/** From accepted calls to answered webhooks, for destinations that do not change. */
export class Line {
  /** Where calls enter. */
  readonly intake: Intake
  /** Empties the store. */
  readonly dispatcher: Dispatcher
  readonly #senders: readonly WebhookSender[]
  readonly #pending: PendingCount | undefined

  constructor(options: LineOptions) {
    const { store, runtime, dedupeWindowMs, keepsParked, failed } = options
    const targets = options.destinations.map((destination) => target(destination, options))
    this.#pending = options.pending
    this.#senders = targets.map(({ sender }) => sender)
    this.dispatcher = new Dispatcher({
      store,
      targets,
      runtime,
      dedupeWindowMs,
      keepsParked,
      ...(failed === undefined ? {} : { failed }),
    })
    this.intake = new Intake({
      add: (events) => this.add(events),
      destinations: options.destinations,
      runtime,
    })
  }

  /**
   * Takes events in whose deliveries are known, past the intake.
   *
   * @throws whatever makes the store refuse them
   */
  add(events: readonly NewEvent[]): Promise<readonly AddOutcome[]> {
    if (this.#pending === undefined) return this.dispatcher.add(events)
    return this.#pending.add(events, (each) => this.dispatcher.add(each))
  }

  /**
   * Starts no further request, gives those under way `graceMs` of real time to end, then cuts them
   * off.
   */
  async stop(graceMs: number): Promise<void> {
    const stopped = this.dispatcher.stop()
    const cut = systemClock.schedule(graceMs, () => void this.close())
    await stopped
    cut.cancel()
  }

  /** Ends all connections at once. */
  async close(): Promise<void> {
    await Promise.all(this.#senders.map((sender) => sender.close()))
  }
}

function target(
  destination: SendingDestination,
  options: LineOptions,
): DispatchTarget & { readonly sender: WebhookSender } {
  const { retryWindowMs = defaultRetryPolicy.windowMs, deadlineMs, guard, connection } = options
  return {
    destination,
    sender: new WebhookSender({
      destination,
      guard,
      clock: options.runtime.clock,
      standardWebhooks: destination.standardWebhooks,
      onConnection: connection && ((kind) => connection({ destinationId: destination.id, kind })),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    }),
    retryPolicy: { ...defaultRetryPolicy, windowMs: destination.retryForMs ?? retryWindowMs },
  }
}
