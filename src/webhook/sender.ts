import { headerValue, readAnswer, type AddressGuard, type AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint } from '../model/index.ts'
import { systemClock } from '../runtime/index.ts'
import { Connections } from './connections.ts'
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
  /** Which addresses it may connect to; any when there is none, as for a tool on a developer's machine. */
  readonly guard?: AddressGuard | undefined
}

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #destination: Destination
  readonly #deadlineMs: number
  readonly #guard: AddressGuard | undefined
  readonly #connections = new Map<string, Connections>()
  #closed = false

  constructor({ destination, deadlineMs = limits.endpointDeadlineMs, guard }: SenderOptions) {
    this.#destination = destination
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
    this.#guard = guard
  }

  /**
   * Signs the body and posts it once. Redirects are not followed. Never throws: whatever happens is
   * an outcome, which is `interrupted` after {@link close}.
   *
   * The deadline runs in real time, whatever the clock of the runtime does: it measures the endpoint.
   */
  async post(endpoint: Endpoint, body: string): Promise<RequestOutcome> {
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = new AbortController()
    const timer = systemClock.schedule(this.#deadlineMs, () => deadline.abort())
    try {
      return await this.#exchange(endpoint, body, deadline.signal)
    } catch (error) {
      return this.#unanswered(error, deadline.signal)
    } finally {
      timer.cancel()
    }
  }

  /** Ends all connections at once, requests under way included. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections.values()].map((connections) => connections.close()))
  }

  #unanswered(error: unknown, deadline: AbortSignal): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    return deadline.aborted ? { kind: 'timeout' } : failureOutcome(error)
  }

  #exchange(endpoint: Endpoint, body: string, deadline: AbortSignal): Promise<RequestOutcome> {
    const url = new URL(endpoint.url)
    return this.#connectionsTo(url.origin).use(deadline, async (connection) => {
      const response = await connection.request({
        method: 'POST',
        path: url.pathname + url.search,
        headers: this.#headers(endpoint, body),
        body,
      })
      const { text, isWhole } = await readAnswer(response.body, answerLimits)
      // Left alone, a connection that is cut off amid an answer would be made anew for nobody.
      if (!isWhole) await connection.end()
      return {
        kind: 'answered',
        status: response.statusCode,
        retryAfter: headerValue(response.headers['retry-after']),
        excerpt: text,
      }
    })
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

  /** With a connection for every request that the destination's endpoints may have in flight there. */
  #connectionsTo(origin: string): Connections {
    let connections = this.#connections.get(origin)
    if (connections === undefined) {
      const endpoints = this.#destination.endpoints.filter(
        ({ url }) => new URL(url).origin === origin,
      )
      const connectionsMax = endpoints.length * this.#destination.concurrency
      connections = new Connections(origin, connectionsMax, this.#guard)
      this.#connections.set(origin, connections)
    }
    return connections
  }
}
