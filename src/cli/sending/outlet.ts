import type { Client, ClientOptions, FailedCall } from '../../client/index.ts'
import type { DeletionRequest } from '../../intake/index.ts'
import {
  isRejectionCode,
  type DeliveryLedger,
  type JsonObject,
  type Rejection,
} from '../../model/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import type { Report } from './report.ts'
import type { SendingOptions, SendingTarget } from './sending-options.ts'

/** Grace period for queued calls and for requests when a command is interrupted. */
export const stopGraceMs = 300

/** The counts of an outlet. A call to a service counts as a delivery. */
export interface OutletLedger extends DeliveryLedger {
  /** The number of calls that a service acknowledged. */
  readonly acknowledged?: number
}

/** Where a command sends its rows. */
export interface Outlet {
  /** The URL of `--store` without its password; undefined if the command keeps nothing. */
  readonly storeName?: string | undefined
  /** Whether the store has failed or expired deliveries of earlier runs to the same destination. */
  readonly hasFailedBefore?: boolean
  /** Takes a row. Waits while too many are in progress. */
  offer(row: JsonObject, position: RowPosition): Promise<OfferResult>
  /** Resolves when every accepted row is settled. */
  finish(): Promise<void>
  /** Ends early. Unfinished deliveries stay pending in the ledger. */
  stop(): Promise<void>
  ledger(): Promise<OutletLedger>
  close(): Promise<void>
}

/** The dependencies of an outlet. It reports requests and deliveries to the runtime's observer. */
export interface OutletParts<
  Target extends SendingTarget,
  Reported extends keyof Report = 'rejected',
> {
  readonly options: SendingOptions
  readonly target: Target
  readonly runtime: Runtime
  /** Gets the reports about rows and calls, such as rejections. */
  readonly listener: Pick<Report, Reported>
}

/** A row that cannot be sent, and why. */
export type RejectedRow = { readonly kind: 'rejected' } & Rejection

/** The outcome of offering a row; `closed` if the outlet was closed before. */
export type OfferResult = { readonly kind: 'taken' | 'closed' } | RejectedRow

/** The position of a row in the input. */
export interface RowPosition {
  /** The file, if there are several. */
  readonly file?: string | undefined
  /** The line on which the row begins, from 1. */
  readonly line: number
}

/** Maximum number of queued calls. It bounds memory even if every call has the maximum size. */
const queueMax = 1_000

/** The client merges waiting batches up to this many calls, because large batches cost less per row. */
const joinedCallsMax = 250

/** Converts the options of a command to those of the client. `--flush-at` sets the exact batch size. */
export function queueOptions({ flushAt, flushAfterMs }: SendingOptions): ClientOptions {
  return {
    flushAt,
    batchMax: flushAt ?? joinedCallsMax,
    flushAfterMs,
    // The client flushes a full queue, so the queue must have room for a whole batch.
    queueMax: Math.max(queueMax, flushAt ?? 0),
  }
}

/** A client that waits while its queue is full, and remembers the position of each call. */
export class CallQueue {
  readonly #client: Client
  /** For each messageId, the positions of its calls, in order. Several calls may share an id. */
  readonly #positions = new Map<string, RowPosition[]>()

  /** @param failed - gets each call that failed, except rejected calls and those that `close` gave up on */
  constructor(
    client: Client,
    listener: Pick<Report, 'rejected'>,
    failed: (call: FailedCall) => void = () => undefined,
  ) {
    this.#client = client
    client.on('delivered', ({ messageId }) => this.#takePosition(messageId))
    client.on('failed', (call) => {
      const { code, message, messageId } = call
      const position = this.#takePosition(messageId)
      if (isRejectionCode(code)) listener.rejected(position, { code, message })
      else if (code !== 'close_timeout') failed(call)
    })
  }

  /** Passes a row to the client as soon as it has room. */
  async offer(row: JsonObject, position: RowPosition): Promise<OfferResult> {
    for (;;) {
      const result = this.#client.enqueue(row)
      if (result.status === 'queued') this.#keepPosition(result.messageId, position)
      if (result.status !== 'refused') return { kind: 'taken' }
      const { code, message } = result
      if (code === 'closed') return { kind: 'closed' }
      if (code !== 'queue_full') return { kind: 'rejected', code, message }
      await this.#client.room()
    }
  }

  flush(): Promise<void> {
    return this.#client.flush()
  }

  /** Waits up to `timeoutMs` for calls in progress, then gives up on them. */
  async close(timeoutMs: number): Promise<void> {
    await this.#client.close({ timeoutMs })
  }

  #keepPosition(messageId: string, position: RowPosition): void {
    const positions = this.#positions.get(messageId)
    if (positions === undefined) this.#positions.set(messageId, [position])
    else positions.push(position)
  }

  #takePosition(messageId: string): RowPosition {
    const positions = this.#positions.get(messageId) ?? []
    const position = positions.shift() ?? { line: 0 }
    if (positions.length === 0) this.#positions.delete(messageId)
    return position
  }
}

/** The result of offering a deletion to a service. */
export const noDeletions: RejectedRow = Object.freeze({
  kind: 'rejected',
  code: 'unknown_type',
  message: 'A tracking API does not accept deletions',
})

/** Parses the deletion request in a row. As in calls, the id of a user may be a number. */
export function readDeletion({
  userId,
  timestamp,
  messageId,
}: JsonObject): ({ readonly kind: 'deletion' } & DeletionRequest) | RejectedRow {
  if (userId === undefined || userId === null || userId === '') {
    return { kind: 'rejected', code: 'no_user_id', message: 'delete needs a userId' }
  }
  if (typeof userId !== 'string' && typeof userId !== 'number') {
    return { kind: 'rejected', code: 'wrong_type', message: 'userId must be a string' }
  }
  return {
    kind: 'deletion',
    userId: String(userId),
    timestamp: typeof timestamp === 'string' ? timestamp : undefined,
    messageId: typeof messageId === 'string' && messageId !== '' ? messageId : undefined,
  }
}
