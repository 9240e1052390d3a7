import {
  Client,
  createInProcessTransport,
  type ClientOptions,
  type FailedCall,
  type RejectedCall,
} from '../../client/index.ts'
import type { DeletionRequest } from '../../intake/index.ts'
import {
  isRejectionCode,
  type DeliveryLedger,
  type JsonObject,
  type Rejection,
} from '../../model/index.ts'
import type { Runtime } from '../../runtime/index.ts'
import type { Report } from './report.ts'
import { commandLineSourceId, type SendingOptions, type SendingTarget } from './sending-options.ts'

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
  stop(): Promise<unknown>
  ledger(): Promise<OutletLedger>
  close(): Promise<unknown>
}

/** The dependencies of an outlet. */
export interface OutletParts<Target extends SendingTarget> {
  readonly options: SendingOptions
  readonly target: Target
  /** Its observer gets the requests and deliveries. */
  readonly runtime: Runtime
  /** Gets everything else, such as rejected rows. */
  readonly report: Report
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

/** The part of an outlet that passes rows to a client. */
export type CallQueue = Pick<Outlet, 'offer' | 'finish' | 'stop' | 'close'>

interface CallQueueParts {
  readonly client: Client
  /** Gets each rejected call. */
  readonly rejected: (position: RowPosition, rejection: Rejection) => void
  /** Gets each call that failed, except rejected calls and those that `stop` gave up on. */
  readonly failed: (call: FailedCall) => void
  /** Undefined if deletions are rejected. */
  readonly takeDeletion?: TakeDeletion | undefined
}

type TakeDeletion = (deletion: DeletionRequest) => Promise<unknown>

/** Makes a queue that waits while the client's queue is full, and reports rejected calls with their positions. */
export function callQueue({ client, rejected, failed, takeDeletion }: CallQueueParts): CallQueue {
  /** For each messageId, the positions of its calls, in order. Several calls may share an id. */
  const positions = new Map<string, RowPosition[]>()
  const keepPosition = (messageId: string, position: RowPosition): void => {
    const waiting = positions.get(messageId)
    if (waiting === undefined) positions.set(messageId, [position])
    else waiting.push(position)
  }
  const takePosition = (messageId: string): RowPosition => {
    const waiting = positions.get(messageId) ?? []
    const position = waiting.shift() ?? { line: 0 }
    if (waiting.length === 0) positions.delete(messageId)
    return position
  }
  client.on('delivered', ({ messageId }) => takePosition(messageId))
  client.on('failed', (call) => {
    const { code, message, messageId } = call
    const position = takePosition(messageId)
    if (isRejectionCode(code)) rejected(position, { code, message })
    else if (code !== 'close_timeout') failed(call)
  })
  const offerDeletion = async (row: JsonObject): Promise<OfferResult> => {
    if (takeDeletion === undefined) return noDeletions
    const deletion = readDeletion(row)
    if (deletion.kind === 'rejected') return deletion
    // Earlier calls may still be waiting in the client. The deletion must not overtake them.
    await client.flush()
    await takeDeletion(deletion)
    return { kind: 'taken' }
  }
  return {
    offer: async (row, position) => {
      if (row['type'] === 'delete') return offerDeletion(row)
      for (;;) {
        const result = client.enqueue(row)
        if (result.status === 'queued') keepPosition(result.messageId, position)
        if (result.status !== 'refused') return { kind: 'taken' }
        const { code, message } = result
        if (code === 'closed') return { kind: 'closed' }
        if (code !== 'queue_full') return { kind: 'rejected', code, message }
        await client.room()
      }
    },
    finish: () => client.flush(),
    stop: () => client.close({ timeoutMs: stopGraceMs }),
    close: () => client.close({ timeoutMs: 0 }),
  }
}

/**
 * Makes a {@link callQueue} in front of an intake in this process. After an error of the intake, `offer` and `finish`
 * throw it.
 *
 * @param accept - returns the rejected calls
 */
export function intakeQueue(
  { options, runtime, report }: Omit<OutletParts<SendingTarget>, 'target'>,
  accept: (calls: readonly unknown[]) => Promise<readonly RejectedCall[]>,
  takeDeletion?: TakeDeletion,
): CallQueue {
  const failure = new AbortController()
  const transport = createInProcessTransport(async ({ calls }) => {
    try {
      return { rejected: await accept(calls) }
    } catch (error) {
      // The client passes on only the error's message, so keep the error here.
      failure.abort(error)
      throw error
    }
  })
  const queue = callQueue({
    client: new Client(commandLineSourceId, { ...queueOptions(options), runtime, transport }),
    rejected: (position, rejection) => report.rejected(position, rejection),
    failed: ({ message }) => failure.abort(new Error(message)),
    takeDeletion,
  })
  return {
    ...queue,
    offer: async (row, position) => {
      failure.signal.throwIfAborted()
      return queue.offer(row, position)
    },
    finish: async () => {
      await queue.finish()
      failure.signal.throwIfAborted()
    },
  }
}

const noDeletions: RejectedRow = Object.freeze({
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
