import type { Readable } from 'node:stream'
import type { AddressGuard, AnswerLimits } from '../http/index.ts'
import { limits, type Destination, type Endpoint, type TlsPaths } from '../model/index.ts'
import { silentLog, systemClock, type Clock, type Log } from '../runtime/index.ts'
import type { ConnectionKind, Connections } from './connections.ts'
import { Deadline } from './deadline.ts'
import { failureOutcome, ProxyError, type RequestOutcome } from './outcome.ts'
import { BodySigner } from './signature.ts'
import {
  standardWebhooksHeaders,
  type OutgoingWebhook,
  type StandardWebhooksSigning,
} from './standard-webhooks.ts'

/** How many bytes of a response to read, and to keep for the delivery log. */
const answerLimits: AnswerLimits = { readBytesMax: 64 * 1024, keptBytesMax: 4 * 1024 }

/** Headers and body of a request. */
export interface RequestContent {
  /** All headers except those that the connection sets. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Readable
}

/** Makes the request for a webhook, with its signatures. */
export type ComposeRequest = (webhook: OutgoingWebhook, endpoint: Endpoint) => RequestContent

/** The destination of a sender, and how to send to it. */
export interface SenderOptions {
  readonly destination: Pick<Destination, 'endpoints' | 'sharedSecret' | 'concurrency'>
  /** Time limit for connecting, headers and body together; 5 s by default, which is also the maximum. */
  readonly deadlineMs?: number
  /** Refuses forbidden addresses; undefined allows all, which suits a tool on a developer's machine. */
  readonly guard?: AddressGuard | undefined
  /** Adds Standard Webhooks signatures; none by default. */
  readonly standardWebhooks?: StandardWebhooksSigning | undefined
  /** Makes the requests; by default the webhook's body with the endpoint's headers and the signatures. */
  readonly compose?: ComposeRequest | undefined
  /** Clock for signed timestamps and the age of connections; the system's by default. */
  readonly clock?: Clock
  /** Receives a warning if changed certificate files cannot be used; silent by default. */
  readonly log?: Pick<Log, 'warn'>
  /** Varies the maximum age of connections; by default all have the same. */
  readonly random?: () => number
  /** Called with the kind of each request's connection once the request has ended. */
  readonly onConnection?: ((kind: ConnectionKind) => void) | undefined
}

/** The connections to an endpoint's origin, and the endpoint's path with its query. */
interface Target {
  readonly connections: Connections
  readonly path: string
}

/**
 * Returns the headers of a webhook: the endpoint's static ones, then those that the specification requires. Without a
 * `signature`, leaves out `X-Signature`.
 */
export function webhookHeaders(
  endpoint: Endpoint,
  signature: string | undefined,
): Readonly<Record<string, string>> {
  // Spreading headers and adding others would take 20 times as long.
  const headers: Record<string, string> = Object.assign({}, endpoint.headers)
  headers['User-Agent'] = 'evroute/1.0'
  headers['Content-Type'] = 'application/json'
  if (signature !== undefined) headers['X-Signature'] = signature
  return headers
}

/** Sends webhooks to the endpoints of one destination over its own connections. */
export interface Sender {
  /**
   * Signs a webhook and posts it once. Doesn't follow redirects. Rejects only if the sender's thread fails. After
   * {@link close}, the outcome is `interrupted`. The deadline runs in real time even with a virtual clock.
   */
  post(endpoint: Endpoint, webhook: OutgoingWebhook): Promise<RequestOutcome>
  /** Closes all connections at once and aborts requests in flight. Idempotent. */
  close(): Promise<void>
}

/** Loads undici only in processes that send, because it loads slowly. Repeated imports are cheap. */
const loadConnections = () => import('./connections.ts')

/** A sender in this thread. */
export class WebhookSender implements Sender {
  readonly #options: SenderOptions
  readonly #deadlineMs: number
  readonly #clock: Clock
  readonly #signer: BodySigner | undefined
  /** Keyed by origin and certificates. */
  readonly #connections = new Map<string, Connections>()
  /** Keyed by endpoint URL. */
  readonly #targets = new Map<string, Target>()
  #closed = false

  constructor(options: SenderOptions) {
    const { deadlineMs = limits.endpointDeadlineMs, clock = systemClock } = options
    this.#options = options
    this.#deadlineMs = Math.min(deadlineMs, limits.endpointDeadlineMs)
    this.#clock = clock
    const { sharedSecret } = options.destination
    if (sharedSecret !== undefined) this.#signer = new BodySigner(sharedSecret)
    // Start loading before the first request.
    void loadConnections()
  }

  async post(endpoint: Endpoint, webhook: OutgoingWebhook): Promise<RequestOutcome> {
    let target = this.#targets.get(endpoint.url)
    try {
      // Load before the deadline starts, because slow loading is not the endpoint's fault.
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

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#connections.values()].map((connections) => connections.close()))
  }

  #unanswered(error: unknown, deadline: Deadline): RequestOutcome {
    if (this.#closed) return { kind: 'interrupted' }
    const isTimeout = deadline.isOver && !(error instanceof ProxyError)
    return isTimeout ? { kind: 'timeout' } : failureOutcome(error)
  }

  #signed(webhook: OutgoingWebhook, endpoint: Endpoint): RequestContent {
    const { standardWebhooks: signing } = this.#options
    const { body } = webhook
    const headers = webhookHeaders(endpoint, this.#signer?.sign(body))
    if (signing === undefined && webhook.headers === undefined) return { headers, body }
    const added = signing && standardWebhooksHeaders(webhook, signing, this.#clock.nowMs())
    return { headers: Object.assign(headers, added, webhook.headers), body }
  }

  async #targetOf({ url, tls }: Endpoint): Promise<Target> {
    const { origin, pathname, search } = new URL(url)
    const target = { connections: await this.#connectionsTo(origin, tls), path: pathname + search }
    this.#targets.set(url, target)
    return target
  }

  /** Allows `concurrency` connections for each of the destination's endpoints at the origin. */
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
