import type { Clock } from '../runtime/index.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'

/** Where a transport posts batches, with which key, and how long it waits for an answer. */
export interface HttpTransportOptions {
  /** The request URL, http or https. */
  readonly endpoint: string
  /** The source's write key, which is sent as the user name of Basic authentication, with an empty password. */
  readonly writeKey: string
  /** How long a request may take in milliseconds, including connecting. */
  readonly timeoutMs: number
  /** Clock for dates in `Retry-After`. A virtual clock stands still while a request is in flight. */
  readonly clock: Clock
}

/**
 * Makes a transport that posts batches to an endpoint over its own connections. It never compresses bodies or
 * follows redirects. The timeout runs in real time.
 *
 * Node checks certificates unless the environment has NODE_TLS_REJECT_UNAUTHORIZED=0.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  // Load HTTP only when it is needed: it takes longer to load than the rest of a client.
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
