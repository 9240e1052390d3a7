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

/** A webhook, and the URL of one of the destination's endpoints. */
export interface ThreadWebhook extends OutgoingWebhook {
  readonly url: string
}

/** The result of a request. */
export interface RequestResult {
  readonly outcome: RequestOutcome
  /** The connections of requests of the sender that ended since the last result. */
  readonly connections: readonly ConnectionKind[]
}

/** The objects in a thread whose methods other threads call: each sender has a number. */
export interface SenderParts {
  readonly thread: {
    /** Opens a sender as a part with this number. */
    readonly open: (opening: {
      readonly number: number
      readonly options: ThreadSenderOptions
    }) => Promise<void>
    /** Ends the thread's work. Requests in flight are interrupted. */
    readonly close: () => Promise<void>
  }
  [sender: number]: {
    /** Sends a webhook. */
    readonly post: (webhook: ThreadWebhook) => Promise<RequestResult>
    /** Closes the sender, which forgets its number. */
    readonly close: () => Promise<void>
  }
}

/** A warning of a sender. */
export interface SenderWarning {
  readonly sender: number
  readonly message: string
  readonly fields: LogFields | undefined
}
