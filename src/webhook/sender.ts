import type { AddressGuard, AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { ConnectionKind, Connections } from './connections.ts'
import { Deadline } from './deadline.ts'
import { failureOutcome, type RequestOutcome } from './outcome.ts'
import { signBody } from './signature.ts'
import {
  standardWebhooksHeaders,
  type OutgoingWebhook,
  type StandardWebhooksSigning,
} from './standard-webhooks.ts'

/** Upper bounds of the bytes read of an answer, and of the excerpt kept for the delivery log. */
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

/** Options of a sender. */
export interface SenderOptions {
  /** Where to send, with which headers and secret. */
  readonly destination: Destination
  /** Time for connect, headers and body together; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number
  /** Which addresses it may connect to; any when there is none, as for a tool on a developer's machine. */
  readonly guard?: AddressGuard | undefined
  /** Signs in the way of Standard Webhooks too; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Makes the requests; by default the webhook's text with the headers of the destination. */
  readonly compose?: ComposeRequest | undefined
  /** Tells the time that Standard Webhooks signs, and how old connections are; the system's by default. */
  readonly clock?: Clock
  /** Spreads the ages that connections reach; all reach the same by default. */
  readonly random?: () => number
  /** Is told of every request that got a connection, once it is answered or given up, which kind it was. */
  readonly onConnection?: ((kind: ConnectionKind) => void) | undefined
}

/** How an endpoint is reached. */
interface Way {
  /** Those to its origin. */
  readonly connections: Connections
  /** Its path and its query. */
  readonly path: string
}

/**
 * The headers of a webhook by the specification, after the static ones of its endpoint.
 *
 * @param signature - the value of X-Signature; undefined sends none
 */
export function webhookHeaders(
  endpoint: Endpoint,
  signature: string | undefined,
): Readonly<Record<string, string>> {
  return {
    ...endpoint.headers,
    'User-Agent': 'evroute/1.0',
    'Content-Type': 'application/json',
    ...(signature === undefined ? {} : { 'X-Signature': signature }),
  }
}

/** With undici, which takes longer to load than all else: a process that sends nothing does without. */
const importConnections = () => import('./connections.ts')
let loading: ReturnType<typeof importConnections> | undefined

function loadConnections(): ReturnType<typeof importConnections> {
  loading ??= importConnections()
  return loading
}

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #destination: Destination
  readonly #deadlineMs: number
  readonly #guard: AddressGuard | undefined
  readonly #standardWebhooks: StandardWebhooksSigning | undefined
  readonly #compose: ComposeRequest
  readonly #clock: Clock
  readonly #random: () => number
  readonly #onConnection: ((kind: ConnectionKind) => void) | undefined
  /** By origin. */
  readonly #connections = new Map<string, Connections>()
  /** By the URL of the endpoint. */
  readonly #ways = new Map<string, Way>()
  #closed = false

  constructor(options: SenderOptions) {
    const { deadlineMs = limits.endpointDeadlineMs, clock = systemClock } = options
    this.#destination = options.destination
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
    this.#guard = options.guard
    this.#standardWebhooks = options.standardWebhooks
    this.#compose = options.compose ?? this.#signed.bind(this)
    this.#clock = clock
    this.#random = options.random ?? (() => 0)
    this.#onConnection = options.onConnection
    // Ahead of the first request.
    void loadConnections()
  }

  /**
   * Signs a webhook and posts it once. Doesn't follow redirects. Never throws: every result is an outcome.
   * After {@link close} it is `interrupted`.
   *
   * The deadline runs in real time, even if the runtime has a virtual clock, because it measures the
   * endpoint.
   */
  async post(endpoint: Endpoint, webhook: OutgoingWebhook): Promise<RequestOutcome> {
    // Before the deadline begins: loading what sends is no fault of the endpoint.
    const way = this.#ways.get(endpoint.url) ?? (await this.#wayTo(endpoint.url))
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = new Deadline(this.#deadlineMs)
    try {
      const { status, retryAfter, text } = await way.connections.request(() => {
        const { headers, body } = this.#compose(webhook, endpoint)
        return { method: 'POST', path: way.path, headers, body }
      }, deadline)
      return { kind: 'answered', status, retryAfter, excerpt: text }
    } catch (error) {
      return this.#unanswered(error, deadline)
    } finally {
      deadline.cancel()
    }
  }

  /** Ends all connections at once, requests under way included. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections.values()].map((connections) => connections.close()))
  }

  #unanswered(error: unknown, deadline: Deadline): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    return deadline.isOver ? { kind: 'timeout' } : failureOutcome(error)
  }

  #signed(webhook: OutgoingWebhook, endpoint: Endpoint): RequestContent {
    const secret = this.#destination.sharedSecret
    const signing = this.#standardWebhooks
    const { body } = webhook
    const headers = webhookHeaders(
      endpoint,
      secret === undefined ? undefined : signBody(body, secret),
    )
    if (signing === undefined) return { headers, body }
    const added = standardWebhooksHeaders(webhook, signing, this.#clock.nowMs())
    return { headers: { ...headers, ...added }, body }
  }

  async #wayTo(endpointUrl: string): Promise<Way> {
    const { origin, pathname, search } = new URL(endpointUrl)
    const way = { connections: await this.#connectionsTo(origin), path: pathname + search }
    this.#ways.set(endpointUrl, way)
    return way
  }

  /** With a connection for every request that the destination's endpoints may have in flight there. */
  async #connectionsTo(origin: string): Promise<Connections> {
    const { Connections } = await loadConnections()
    const known = this.#connections.get(origin)
    if (known !== undefined) return known
    const { endpoints, concurrency } = this.#destination
    const { length } = endpoints.filter(({ url }) => new URL(url).origin === origin)
    const connections = new Connections({
      origin,
      connectionsMax: length * concurrency,
      guard: this.#guard,
      answerLimits,
      onConnection: this.#onConnection,
      clock: this.#clock,
      random: this.#random,
    })
    this.#connections.set(origin, connections)
    return connections
  }
}
