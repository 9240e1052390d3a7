import type { Clock } from '../runtime/index.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'

/** The settings of an HTTP transport. */
export interface HttpTransportOptions {
  /** The request URL, http or https. */
  readonly endpoint: string
  /** The source's write key: the user of Basic authentication, with an empty password. */
  readonly writeKey: string
  /** Time for one request, in milliseconds: connect, headers and body together. */
  readonly timeoutMs: number
  /** Tells the time against which a date in `Retry-After` is read; held while a request runs. */
  readonly clock: Clock
}

/**
 * Posts batches to an endpoint over connections of its own. Bodies are sent as they are, never
 * compressed; redirects are not followed. The deadline runs in real time.
 *
 * Whom to trust is the user's choice, as everywhere in Node: a certificate is checked unless the
 * environment says NODE_TLS_REJECT_UNAUTHORIZED=0.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  // HTTP takes longer to load than the rest of a client, which other transports don't need.
  const isSecure = new URL(options.endpoint).protocol === 'https:'
  const opened = Promise.all([
    import('./pooled-transport.ts'),
    isSecure ? import('node:https') : import('node:http'),
  ]).then(([{ PooledTransport }, http]) => new PooledTransport(http, options))
  return Object.freeze({
    send: async (batch: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> => {
      const release = options.clock.hold()
      try {
        return await (await opened).send(batch, signal)
      } finally {
        release()
      }
    },
    close: async (): Promise<void> => (await opened).close(),
  })
}
