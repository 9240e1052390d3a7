import type { AddressGuardOptions } from '../../http/index.ts'
import type { LogFields } from '../../runtime/index.ts'
import type { ConnectionKind } from '../connections.ts'
import type { RequestOutcome } from '../outcome.ts'
import type { SenderOptions } from '../sender.ts'
import type { OutgoingWebhook } from '../standard-webhooks.ts'

/** The options of a sender that can be sent to a thread. */
export interface ThreadSenderOptions extends Pick<
  SenderOptions,
  'destination' | 'deadlineMs' | 'standardWebhooks'
> {
  /** The options of the guard; undefined for no guard. */
  readonly guard: Omit<AddressGuardOptions, 'resolveName'> | undefined
}

/** A message to a thread. `sender` and `request` are the numbers of a sender and of one of its requests. */
export type SenderMessage =
  | { readonly kind: 'open'; readonly sender: number; readonly options: ThreadSenderOptions }
  | {
      readonly kind: 'post'
      readonly sender: number
      readonly request: number
      /** The URL of one of the destination's endpoints. */
      readonly url: string
      readonly webhook: OutgoingWebhook
    }
  | { readonly kind: 'close'; readonly sender: number }

/** Something that happened in a thread. */
export type SenderAnswer =
  | { readonly kind: 'ended'; readonly request: number; readonly outcome: RequestOutcome }
  | { readonly kind: 'closed'; readonly sender: number }
  | {
      readonly kind: 'warning'
      readonly sender: number
      readonly message: string
      readonly fields: LogFields | undefined
    }

/** How many requests of a sender used each kind of connection. */
export type ConnectionCounts = Record<ConnectionKind, number>

/** A message from a thread. */
export interface SenderReport {
  readonly answers: readonly SenderAnswer[]
  /** The connections of requests that ended since the last message, by sender. */
  readonly connections: ReadonlyMap<number, ConnectionCounts>
}
