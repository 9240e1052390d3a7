import type { AddressGuardOptions } from '../../http/index.ts'
import type { LogFields } from '../../runtime/index.ts'
import type { ConnectionKind } from '../connections.ts'
import type { RequestOutcome } from '../outcome.ts'
import type { SenderOptions } from '../sender.ts'
import type { OutgoingWebhook } from '../standard-webhooks.ts'

/** The sender options that can be passed to a thread, because they contain no functions. */
export interface ThreadSenderOptions extends Pick<
  SenderOptions,
  'destination' | 'deadlineMs' | 'standardWebhooks'
> {
  readonly guard: Omit<AddressGuardOptions, 'resolveName'> | undefined
}

/** A webhook, and the URL of one of the destination's endpoints. */
export interface ThreadWebhook extends OutgoingWebhook {
  readonly url: string
}

/** The result of a sender's `post`. */
export interface RequestResult {
  readonly outcome: RequestOutcome
  /** One for each request that has ended since the last result. */
  readonly connections: readonly ConnectionKind[]
}

/** The objects that other threads can call in a sender thread: the thread itself, and each open sender by number. */
export interface SenderParts {
  readonly thread: {
    /** Opens a sender, which can then be called by its number. */
    readonly open: (opening: {
      readonly number: number
      readonly options: ThreadSenderOptions
    }) => Promise<void>
    /** Ends the thread's work. Requests in flight are interrupted. */
    readonly close: () => Promise<void>
  }
  [sender: number]: {
    readonly post: (webhook: ThreadWebhook) => Promise<RequestResult>
    /** Closes the sender, which can then no longer be called. */
    readonly close: () => Promise<void>
  }
}

/** A log line of a sender, at level warn. */
export interface SenderWarning {
  readonly sender: number
  readonly message: string
  readonly fields: LogFields | undefined
}
