import type { AddressGuard, AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { Connection, ConnectionKind, Connections } from './connections.ts'
import { failureOutcome, type RequestOutcome } from './outcome.ts'
import { signBody } from './signature.ts'
import {
  standardWebhooksHeaders,
  type OutgoingWebhook,
  type StandardWebhooksSigning,
} from './standard-webhooks.ts'

/** How much of an answer is read at the most, and how much of it is kept for the delivery log. */
const answerLimits: AnswerLimits = { readBytesMax: 64 * 1024, keptBytesMax: 4 * 1024 }

/** What one request carries. */
export interface RequestContent {
  /** All of its headers but those of the connection. */
  readonly headers: Readonly<Record<string, string>>
  /** Its body. */
  readonly body: string
}

/** Makes the request of a webhook to an endpoint, signatures included. */
export type ComposeRequest = (webhook: OutgoingWebhook, endpoint: Endpoint) => RequestContent

/** What a sender is made of. */
export interface SenderOptions {
  /** Where to send, with which headers and secret. */
  readonly destination: Destination
  /** Time for connect, headers and body together; 5 s by default and at the most. */
  readonly deadlineMs?: number
  /** Which addresses it may connect to; any when there is none, as for a tool on a developer's machine. */
  readonly guard?: AddressGuard | undefined
  /** Signs in the way of Standard Webhooks too; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Makes the requests; by default the webhook's text with the headers of the destination. */
  readonly compose?: ComposeRequest | undefined
  /** Tells the time that Standard Webhooks signs; the system's by default. */
  readonly clock?: Clock
  /** Is told of every request that got a connection, once it is answered or given up, which kind it was. */
  readonly onConnection?: ((kind: ConnectionKind) => void) | undefined
}

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #destination: Destination
  readonly #deadlineMs: number
  readonly #guard: AddressGuard | undefined
  readonly #standardWebhooks: StandardWebhooksSigning | undefined
  readonly #compose: ComposeRequest
  readonly #clock: Clock
  readonly #onConnection: ((kind: ConnectionKind) => void) | undefined
  readonly #connections = new Map<string, Connections>()
  /** With undici behind it, which takes longer to load than all else: who sends nothing does without. */
  readonly #loading = import('./connections.ts')
  #closed = false

  constructor(options: SenderOptions) {
    const { deadlineMs = limits.endpointDeadlineMs, clock = systemClock } = options
    this.#destination = options.destination
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
    this.#guard = options.guard
    this.#standardWebhooks = options.standardWebhooks
    this.#compose = options.compose ?? this.#signed.bind(this)
    this.#clock = clock
    this.#onConnection = options.onConnection
  }

  /**
   * Signs a webhook and posts it once. Redirects are not followed. Never throws: whatever happens is
   * an outcome, which is `interrupted` after {@link close}.
   *
   * The deadline runs in real time, whatever the clock of the runtime does: it measures the endpoint.
   */
  async post(endpoint: Endpoint, webhook: OutgoingWebhook): Promise<RequestOutcome> {
    const url = new URL(endpoint.url)
    // Before the deadline begins: loading them is no fault of the endpoint.
    const connections = this.#connections.get(url.origin) ?? (await this.#connectionsTo(url.origin))
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = new AbortController()
    const timer = systemClock.schedule(this.#deadlineMs, () => deadline.abort())
    try {
      const compose = (): RequestContent => this.#compose(webhook, endpoint)
      const path = url.pathname + url.search
      return await this.#exchange(connections, { path, compose }, deadline.signal)
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

  #exchange(
    connections: Connections,
    { path, compose }: { readonly path: string; readonly compose: () => RequestContent },
    deadline: AbortSignal,
  ): Promise<RequestOutcome> {
    return connections.use(deadline, async (connection) => {
      const { status, retryAfter, text, isWhole } = await this.#request(connection, {
        method: 'POST',
        path,
        ...compose(),
      })
      // Left alone, a connection that is cut off amid an answer would be made anew for nobody.
      if (!isWhole) await connection.end()
      return { kind: 'answered', status, retryAfter, excerpt: text }
    })
  }

  async #request(
    connection: Connection,
    options: Parameters<Connection['request']>[0],
  ): ReturnType<Connection['request']> {
    try {
      return await connection.request(options, answerLimits)
    } finally {
      const { kind } = connection
      if (kind !== undefined) this.#onConnection?.(kind)
    }
  }

  #signed(webhook: OutgoingWebhook, endpoint: Endpoint): RequestContent {
    const secret = this.#destination.sharedSecret
    const signing = this.#standardWebhooks
    const headers = {
      ...endpoint.headers,
      'User-Agent': 'evroute/1.0',
      'Content-Type': 'application/json',
      ...(secret === undefined ? {} : { 'X-Signature': signBody(webhook.body, secret) }),
      ...(signing && standardWebhooksHeaders(webhook, signing, this.#clock.nowMs())),
    }
    return { headers, body: webhook.body }
  }

  /** With a connection for every request that the destination's endpoints may have in flight there. */
  async #connectionsTo(origin: string): Promise<Connections> {
    const { Connections } = await this.#loading
    const known = this.#connections.get(origin)
    if (known !== undefined) return known
    const endpoints = this.#destination.endpoints.filter(
      ({ url }) => new URL(url).origin === origin,
    )
    const connectionsMax = endpoints.length * this.#destination.concurrency
    const connections = new Connections(origin, connectionsMax, this.#guard)
    this.#connections.set(origin, connections)
    return connections
  }
}
