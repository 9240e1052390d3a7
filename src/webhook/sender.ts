import { Pool } from 'undici'
import { headerValue, readAnswer, type AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint } from '../model/index.ts'
import { failureOutcome, type RequestOutcome } from './outcome.ts'
import { signBody } from './signature.ts'

/** How much of an answer is read at the most, and how much of it is kept for the delivery log. */
const answerLimits: AnswerLimits = { readBytesMax: 64 * 1024, keptBytesMax: 4 * 1024 }

/** What a sender is made of. */
export interface SenderOptions {
  /** Where to send, with which headers and secret. */
  readonly destination: Destination
  /** Time for connect, headers and body together; 5 s by default and at the most. */
  readonly deadlineMs?: number
}

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #destination: Destination
  readonly #deadlineMs: number
  readonly #pools = new Map<string, Pool>()
  #closed = false

  constructor({ destination, deadlineMs = limits.endpointDeadlineMs }: SenderOptions) {
    this.#destination = destination
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
  }

  /**
   * Signs the body and posts it once. Redirects are not followed. Never throws: whatever happens is
   * an outcome, which is `interrupted` after {@link close}.
   *
   * The deadline runs in real time, whatever the clock of the runtime does: it measures the endpoint.
   */
  async post(endpoint: Endpoint, body: string): Promise<RequestOutcome> {
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = AbortSignal.timeout(this.#deadlineMs)
    const url = new URL(endpoint.url)
    try {
      const response = await this.#pool(url.origin).request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: this.#headers(endpoint, body),
        body,
        signal: deadline,
      })
      const { text } = await readAnswer(response.body, answerLimits)
      return {
        kind: 'answered',
        status: response.statusCode,
        retryAfter: headerValue(response.headers['retry-after']),
        excerpt: text,
      }
    } catch (error) {
      return this.#unanswered(error, deadline)
    }
  }

  /** Ends all connections at once, requests under way included. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()))
  }

  #unanswered(error: unknown, deadline: AbortSignal): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    return deadline.aborted ? { kind: 'timeout' } : failureOutcome(error)
  }

  #headers(endpoint: Endpoint, body: string): Record<string, string> {
    const secret = this.#destination.sharedSecret
    return {
      ...endpoint.headers,
      'User-Agent': 'evroute/1.0',
      'Content-Type': 'application/json',
      ...(secret === undefined ? {} : { 'X-Signature': signBody(body, secret) }),
    }
  }

  #pool(origin: string): Pool {
    let pool = this.#pools.get(origin)
    if (pool === undefined) {
      pool = new Pool(origin, {
        connections: this.#connections(origin),
        // The deadline above is exact; the pool's own timers are coarse and would come after it.
        headersTimeout: 0,
        bodyTimeout: 0,
        connectTimeout: this.#deadlineMs,
        // Said outright, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing.
        connect: { rejectUnauthorized: true },
      })
      this.#pools.set(origin, pool)
    }
    return pool
  }

  /** A connection for every request that the destination's endpoints may have in flight there. */
  #connections(origin: string): number {
    const endpoints = this.#destination.endpoints.filter(
      ({ url }) => new URL(url).origin === origin,
    )
    return endpoints.length * this.#destination.concurrency
  }
}
