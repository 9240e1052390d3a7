import type { AddressGuard, AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint, type TlsPaths } from '../model/index.ts'
import { silentLog, systemClock, type Clock, type Log } from '../runtime/index.ts'
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
  /** All headers except the connection's. */
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
  /** Refuses addresses; undefined allows all, as for a tool on a developer's machine. */
  readonly guard?: AddressGuard | undefined
  /** Signs in the way of Standard Webhooks too; not by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Makes the requests; by default the webhook's text with the headers of the destination. */
  readonly compose?: ComposeRequest | undefined
  /** Tells the time that Standard Webhooks signs, and how old connections are; the system's by default. */
  readonly clock?: Clock
  /** Learns of certificates that were changed and cannot be used; nobody by default. */
  readonly log?: Pick<Log, 'warn'>
  /** Spreads the ages that connections reach; all reach the same by default. */
  readonly random?: () => number
  /** Learns the kind of each request's connection once the request has ended. */
  readonly onConnection?: ((kind: ConnectionKind) => void) | undefined
}

/** How an endpoint is reached. */
interface Target {
  /** The connections to its origin. */
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

/** Loads undici, which takes longer than all else, only in processes that send. Repeated imports are cheap. */
const loadConnections = () => import('./connections.ts')

/** Sends webhooks to the endpoints of one destination over connections of its own. */
export class WebhookSender {
  readonly #options: SenderOptions
  readonly #deadlineMs: number
  readonly #clock: Clock
  /** By origin and certificates. */
  readonly #connections = new Map<string, Connections>()
  /** By the URL of the endpoint. */
  readonly #targets = new Map<string, Target>()
  #closed = false

  constructor(options: SenderOptions) {
    const { deadlineMs = limits.endpointDeadlineMs, clock = systemClock } = options
    this.#options = options
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
    this.#clock = clock
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
    let target = this.#targets.get(endpoint.url)
    try {
      // Before the deadline begins: loading what sends is no fault of the endpoint.
      target ??= await this.#targetOf(endpoint)
    } catch (error) {
      return failureOutcome(error)
    }
    if (this.#closed) return { kind: 'interrupted' }
    const deadline = new Deadline(this.#deadlineMs)
    try {
      const { status, retryAfter, text } = await target.connections.request(() => {
        const { compose } = this.#options
        const { headers, body } = compose?.(webhook, endpoint) ?? this.#signed(webhook, endpoint)
        return { method: 'POST', path: target.path, headers, body }
      }, deadline)
      return { kind: 'answered', status, retryAfter, excerpt: text }
    } catch (error) {
      return this.#unanswered(error, deadline)
    } finally {
      deadline.cancel()
    }
  }

  /** Ends all connections at once, requests in flight included. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections.values()].map((connections) => connections.close()))
  }

  #unanswered(error: unknown, deadline: Deadline): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    return deadline.isOver ? { kind: 'timeout' } : failureOutcome(error)
  }

  #signed(webhook: OutgoingWebhook, endpoint: Endpoint): RequestContent {
    const { destination, standardWebhooks: signing } = this.#options
    const { sharedSecret: secret } = destination
    const { body } = webhook
    const headers = webhookHeaders(
      endpoint,
      secret === undefined ? undefined : signBody(body, secret),
    )
    if (signing === undefined) return { headers, body }
    const added = standardWebhooksHeaders(webhook, signing, this.#clock.nowMs())
    return { headers: { ...headers, ...added }, body }
  }

  async #targetOf({ url, tls }: Endpoint): Promise<Target> {
    const { origin, pathname, search } = new URL(url)
    const target = { connections: await this.#connectionsTo(origin, tls), path: pathname + search }
    this.#targets.set(url, target)
    return target
  }

  /** With a connection for every request that the destination's endpoints may have in flight there. */
  async #connectionsTo(origin: string, paths: TlsPaths | undefined): Promise<Connections> {
    const { destination, guard, onConnection, random = () => 0, log = silentLog } = this.#options
    const { Connections, TlsFiles } = await loadConnections()
    const tls = paths && (await TlsFiles.open(paths, log))
    const name = [origin, paths?.cert, paths?.key, paths?.ca].join('\n')
    const known = this.#connections.get(name)
    if (known !== undefined) return known
    const { endpoints, concurrency } = destination
    const { length } = endpoints.filter(({ url }) => new URL(url).origin === origin)
    const connections = new Connections({
      origin,
      connectionsMax: length * concurrency,
      guard,
      tls,
      answerLimits,
      onConnection,
      clock: this.#clock,
      random,
    })
    this.#connections.set(name, connections)
    return connections
  }
}
