import { messageOf } from '../model/index.ts'
import type { EncodedBatch, RejectedCall, Transport, TransportOutcome } from './transport.ts'

/** A batch from a client in this process. */
export interface InProcessBatch {
  /** Parsed from JSON, so that they share nothing with the caller. */
  readonly calls: readonly unknown[]
  /** When the batch was sent: UTC, ISO 8601 with milliseconds. */
  readonly sentAt: string
}

/** Accepts a batch. Resolves with the rejected calls once the others are stored. */
export type AcceptBatch = (
  batch: InProcessBatch,
) => Promise<{ readonly rejected: readonly RejectedCall[] }>

/** Makes a transport to a function in this process. If the function rejects, the calls fail as `internal`. */
export function createInProcessTransport(accept: AcceptBatch): Transport {
  return Object.freeze({
    send: (batch: EncodedBatch) => handOver(batch, accept),
    close: () => Promise.resolve(),
  })
}

async function handOver({ body }: EncodedBatch, accept: AcceptBatch): Promise<TransportOutcome> {
  try {
    const { batch, sentAt } = JSON.parse(body) as { batch: unknown[]; sentAt: string }
    const { rejected } = await accept({ calls: batch, sentAt })
    return { kind: 'accepted', rejected }
  } catch (error) {
    return { kind: 'refused', code: 'internal', message: messageOf(error) }
  }
}
