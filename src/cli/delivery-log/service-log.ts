import {
  formatDeliveryId,
  type DeliveryFilter,
  type DeliveryKey,
  type DeliveryStory,
  type ListRequest,
  type LoggedDelivery,
  type RetryRequest,
  type StoreAudit,
} from '../../delivery/index.ts'
import {
  evrouteVersion,
  EvrouteError,
  formatTimestamp,
  messageOf,
  plainText,
  SettingError,
  systemCode,
} from '../../model/index.ts'
import type { LogPlace } from './log-place.ts'
import type { AskedLog } from './open-log.ts'
import {
  readAudit,
  readDestinations,
  readPage,
  readRetried,
  readStory,
  type ReadAnswer,
} from './read-records.ts'
import type { DestinationStanding } from './waits.ts'

/** Time that a service has for one answer. */
const answerTimeoutMs = 30_000
/** Before it nothing was accepted; a time ago may lie further back than dates are written. */
const earliestMs = Date.UTC(1970, 0, 1)

interface Question {
  /** Below the URL of the API. */
  readonly path: string
  /** Sent as JSON, by POST. */
  readonly body?: object
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

/** The delivery log of a running service, asked through its admin API. */
export class ServiceLog implements AskedLog {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #stop: AbortSignal

  /** @param stop - ends questions early, with its reason as the error */
  constructor({ url, token }: LogPlace & { readonly kind: 'service' }, stop: AbortSignal) {
    this.#url = url
    this.#stop = stop
    this.#headers = {
      accept: 'application/json',
      // The bytes of a header stand for themselves.
      authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
      'user-agent': `evroute/${evrouteVersion}`,
    }
  }

  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const { filter, limit, beforeId } = request
    const query = new URLSearchParams({ limit: String(limit) })
    if (beforeId !== undefined) query.set('before', String(beforeId))
    for (const [name, value] of Object.entries(conditionsOf(filter))) {
      for (const each of [value].flat()) if (each !== undefined) query.append(name, each)
    }
    const { deliveries } = await this.#read({ path: `v1/deliveries?${query.toString()}` }, readPage)
    return deliveries
  }

  async story({ destinationId, id }: DeliveryKey): Promise<DeliveryStory | undefined> {
    const path = `v1/deliveries/${encodeURIComponent(destinationId)}/${id}`
    const reply = await this.#ask({ path })
    // What was purged since it was listed is no fault.
    return refusalOf(reply)?.code === 'not_found' ? undefined : this.#understand(reply, readStory)
  }

  retry({ filter, limit }: RetryRequest): Promise<number> {
    const conditions = conditionsOf(filter)
    const isAll = Object.values(conditions).every((condition) => condition === undefined)
    const body = { ...conditions, ...(isAll ? { all: true } : {}), limit }
    return this.#read({ path: 'v1/deliveries/retry', body }, readRetried)
  }

  audit(): Promise<StoreAudit> {
    return this.#read({ path: 'v1/audit' }, readAudit)
  }

  destinations(): Promise<readonly DestinationStanding[]> {
    return this.#read({ path: 'v1/destinations' }, readDestinations)
  }

  async #read<Value>(question: Question, read: ReadAnswer<Value>): Promise<Value> {
    return this.#understand(await this.#ask(question), read)
  }

  #understand<Value>(reply: Reply, read: ReadAnswer<Value>): Value {
    if (reply.status !== 200) throw this.#refused(reply)
    const value = read(reply.body)
    if (value === undefined) throw this.#stranger()
    return value
  }

  async #ask({ path, body }: Question): Promise<Reply> {
    const base = this.#url.replace(/[?#].*$/s, '').replace(/\/*$/, '/')
    const timeout = AbortSignal.timeout(answerTimeoutMs)
    // What changes something is not left alone half way: nobody would know what became of it.
    const signal = body === undefined ? AbortSignal.any([timeout, this.#stop]) : timeout
    try {
      const response = await fetch(new URL(path, base), {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...this.#headers,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        // The token is for this service and no other.
        redirect: 'manual',
        signal,
      })
      return { status: response.status, body: parsed(await response.text()) }
    } catch (error) {
      if (error === this.#stop.reason) throw error
      throw this.#unreachable(error, timeout.aborted)
    }
  }

  #refused(reply: Reply): EvrouteError {
    const refusal = refusalOf(reply)
    if (refusal === undefined) return this.#stranger()
    const message = `The service at ${this.#url} refuses: ${plainText(refusal.message)}`
    if (reply.status === 401) {
      return new SettingError(
        '--token',
        `The service at ${this.#url} does not accept the token`,
        'It is the admin token of its configuration; pass it with --token or EVROUTE_ADMIN_TOKEN.',
      )
    }
    if (reply.status >= 500) {
      return new EvrouteError({
        code: 'store_unusable',
        message,
        hint: 'See the log of the service.',
      })
    }
    return new SettingError('--api', message)
  }

  /** Something answers, but not like the admin API of evroute. */
  #stranger(): EvrouteError {
    return new SettingError(
      '--api',
      `What answers at ${this.#url} is not the admin API of evroute, or of another version`,
      'Check the URL: the admin API has a port of its own, 4001 unless it is configured otherwise.',
    )
  }

  #unreachable(error: unknown, timedOut: boolean): EvrouteError {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    // It speaks, but no HTTP.
    if (cause instanceof Error && cause.name === 'HTTPParserError') return this.#stranger()
    const reason = timedOut
      ? `no answer within ${answerTimeoutMs / 1_000} s`
      : (systemCode(cause) ?? messageOf(cause))
    return new EvrouteError({
      code: 'store_unusable',
      message: `Cannot reach the service at ${this.#url}: ${reason}`,
      hint: 'Check that `evroute serve` runs there, and that the URL is the one of its admin API.',
      cause: error,
    })
  }
}

/** A filter under the names that the API has for its conditions. */
function conditionsOf(
  filter: DeliveryFilter,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: sinceMs === undefined ? undefined : formatTimestamp(Math.max(sinceMs, earliestMs)),
    until: untilMs === undefined ? undefined : formatTimestamp(Math.max(untilMs, earliestMs)),
  }
}

function refusalOf({
  body,
}: Reply): { readonly code: string; readonly message: string } | undefined {
  const { error } = (body ?? {}) as { readonly error?: unknown }
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
