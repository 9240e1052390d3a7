import type { EncodedBatch, RejectedCall, Transport, TransportOutcome } from './transport.ts'

/** A batch from a client in this process. */
export interface InProcessBatch {
  /** Parsed from JSON, so that they share nothing with the caller. */
  readonly calls: readonly unknown[]
  /** When the batch was sent: UTC, ISO 8601 with milliseconds. */
  readonly sentAt: string
}

/** Accepts a batch. Resolves once the calls are stored. The result lists the rejected calls, if there are any. */
export type AcceptBatch = (
  batch: InProcessBatch,
) => Promise<{ readonly rejected: readonly RejectedCall[] } | undefined>

/** Makes a transport to a function in this process. If the function rejects, the calls fail as `internal`. */
export function createInProcessTransport(accept: AcceptBatch): Transport {
  return Object.freeze({
    send: async ({ body }: EncodedBatch): Promise<TransportOutcome> => {
      const { batch, sentAt } = JSON.parse(body) as { batch: unknown[]; sentAt: string }
      const answer = await accept({ calls: batch, sentAt })
      return { kind: 'accepted', rejected: answer?.rejected }
    },
    close: () => Promise.resolve(),
  })
}
