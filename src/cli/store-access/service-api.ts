import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { AnswerName, AnswerRecord } from '../../admin-api/index.ts'
import {
  evrouteVersion,
  EvrouteError,
  failureText,
  formatTimestamp,
  isJsonObject,
  messageOf,
  parseJson,
  plainText,
  SettingError,
  systemCode,
} from '../../model/index.ts'
import {
  formatDeliveryId,
  type ChangeRequest,
  type ChangeResult,
  type DeliveryFilter,
} from '../../delivery/index.ts'
import type { Deliveries } from './readers.ts'

/** Timeout for an answer. Streamed answers have none. */
const answerTimeoutMs = 30_000
/** How long to wait, after a signal, for the answer to a change: only the answer tells the outcome. */
const changeGraceMs = 1_000

/** A record of the API. Its kind and version determine its fields. */
export type ServiceRecord = Readonly<Record<string, unknown>> & { readonly kind: string }

/** A client for the admin API of a service. Paths are relative to the URL of the API. */
export class ServiceApi {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #stop: AbortSignal
  readonly #stopOfChanges = new AbortController()

  /** @param stop - aborts requests. The abort reason becomes their error */
  constructor({ url, token }: Readonly<Record<'url' | 'token', string>>, stop: AbortSignal) {
    this.#url = url
    this.#stop = stop
    const stopChanges = (): void => this.#stopOfChanges.abort(stop.reason)
    const stopSoon = (): void => void setTimeout(stopChanges, changeGraceMs).unref()
    stop.addEventListener('abort', stopSoon, { once: true })
    this.#headers = {
      accept: 'application/json',
      // Node writes headers as Latin-1, so this sends the UTF-8 bytes of the token.
      authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
      'user-agent': `evroute/${evrouteVersion}`,
    }
  }

  /**
   * Sends a GET, or a POST with a body, and returns the record of this kind. Throws a SettingError for a wrong token, a
   * refusal, or an answer that isn't evroute's, and `store_unusable` for a service that fails or does not answer.
   */
  async read<Kind extends AnswerName>(
    kind: Kind,
    path: string,
    body?: object,
  ): Promise<AnswerRecord<Kind>> {
    return this.#recordOf(await this.#ask(path, body), kind) as object as AnswerRecord<Kind>
  }

  /** Like {@link ServiceApi.read}, but undefined if the service answers `not_found`. */
  async find<Answer>(kind: string, path: string): Promise<Answer | undefined> {
    const reply = await this.#ask(path)
    if (refusalIn(reply)?.code === 'not_found') return undefined
    return this.#recordOf(reply, kind) as Answer
  }

  /**
   * Streams bytes to the service in a POST, and yields its records while it works. Has no timeout. If the command must
   * end early, cuts the connection: the service then knows that the list is incomplete. Throws like {@link read}, and
   * any error of reading the bytes.
   */
  async *upload(path: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<ServiceRecord> {
    const input = new AbortController()
    const request = {
      method: 'POST',
      headers: {
        ...this.#headers,
        accept: 'application/x-ndjson, application/json',
        'content-type': 'application/octet-stream',
      },
      signal: this.#stop,
      body: noting(body, input),
    }
    let response: IncomingMessage | undefined
    try {
      response = await sendRequest(this.#urlOf(path), request)
      if (response.statusCode !== 200) throw this.#refused(await jsonReply(response))
      for await (const record of recordsOf(response)) {
        if (!isRecord(record)) throw this.stranger()
        yield record
      }
    } catch (error) {
      input.signal.throwIfAborted()
      this.#stop.throwIfAborted()
      throw error instanceof EvrouteError ? error : this.#unreachable(error)
    } finally {
      response?.destroy()
    }
  }

  /** Makes the error for an answer that does not come from this version of evroute's admin API. */
  stranger(): EvrouteError {
    return new SettingError(
      '--api',
      `The server at ${this.#url} is not an admin API of this version of evroute`,
      'Check the URL: the admin API has its own port, 4001 by default, and needs https:// if admin.tls is set.',
    )
  }

  failed({ code, message }: { readonly code: string; readonly message: string }): EvrouteError {
    // The service may notice invalid input only in the middle of its work.
    return code === 'invalid_request' ? this.#refuses(message) : this.brokenOff(message)
  }

  brokenOff(why: string): EvrouteError {
    const hint =
      'The changes so far are kept. See the log of the service, and run the command again.'
    return unusable(`The service at ${this.#url} did not finish: ${plainText(why)}`, hint)
  }

  async #ask(path: string, body?: object): Promise<JsonReply> {
    const timeout = AbortSignal.timeout(answerTimeoutMs)
    const isChange = body !== undefined
    const stop = isChange ? this.#stopOfChanges.signal : this.#stop
    try {
      const response = await sendRequest(this.#urlOf(path), {
        method: isChange ? 'POST' : 'GET',
        headers: { ...this.#headers, ...(isChange ? { 'content-type': 'application/json' } : {}) },
        signal: AbortSignal.any([timeout, stop]),
        body: isChange ? [JSON.stringify(body)] : [],
      })
      return await jsonReply(response)
    } catch (error) {
      if (stop.aborted) throw isChange ? this.#unanswered() : error
      const timedOut = `no answer within ${answerTimeoutMs / 1_000} s`
      throw this.#unreachable(error, timeout.aborted ? timedOut : undefined)
    }
  }

  #recordOf(reply: JsonReply, kind: string): ServiceRecord {
    if (reply.status !== 200) throw this.#refused(reply)
    const { body } = reply
    if (!isRecord(body) || body.kind !== kind) throw this.stranger()
    return body
  }

  #urlOf(path: string): URL {
    const base = this.#url.replace(/[?#].*$/s, '').replace(/\/*$/, '/')
    return new URL(path, base)
  }

  #refused(reply: JsonReply): EvrouteError {
    const refusal = refusalIn(reply)
    if (refusal === undefined) return this.stranger()
    if (reply.status === 401) {
      return new SettingError(
        '--token',
        `The service at ${this.#url} does not accept the token`,
        'Pass the admin.token of its configuration with --token or EVROUTE_ADMIN_TOKEN.',
      )
    }
    const error = this.#refuses(refusal.message)
    const { message } = error
    if (refusal.code === 'sync_running') return new EvrouteError({ code: 'sync_running', message })
    return reply.status < 500 ? error : unusable(message, 'See the log of the service.')
  }

  #refuses(message: string): SettingError {
    return new SettingError('--api', `The service at ${this.#url} refuses: ${plainText(message)}`)
  }

  #unanswered(): EvrouteError {
    return unusable(
      `The service at ${this.#url} did not answer before the command was interrupted: it may have done what was asked`,
      'Ask the service for its state before you run the command again.',
    )
  }

  #unreachable(error: unknown, known?: string): EvrouteError {
    const code = systemCode(error)
    // The server does not speak HTTP.
    if (code?.startsWith('HPE_') === true) return this.stranger()
    const reason = known ?? (code === undefined ? messageOf(error) : failureText(code))
    const hint = reason.includes('certificate')
      ? 'If its authority is private, set NODE_EXTRA_CA_CERTS to a file with the CA certificate.'
      : 'Check that `evroute serve` is running there, and that this is the URL of its admin API.'
    return unusable(`Cannot reach the service at ${this.#url}: ${reason}`, hint, error)
  }
}

function unusable(message: string, hint: string, cause?: unknown): EvrouteError {
  return new EvrouteError({ code: 'store_unusable', message, hint, cause })
}

function isRecord(value: unknown): value is ServiceRecord {
  return isJsonObject(value) && value['v'] === 1 && typeof value['kind'] === 'string'
}

function refusalIn({
  body,
}: JsonReply): { readonly code: string; readonly message: string } | undefined {
  const { error } = isJsonObject(body) ? body : {}
  const { code, message } = isJsonObject(error) ? error : {}
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined
}

/** Yields the bytes. Keeps a read error in `failure`, because the request would replace the error with its own. */
async function* noting(
  bytes: AsyncIterable<Uint8Array>,
  failure: AbortController,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    failure.abort(error)
    throw error
  }
}

/** Maximum length of a line in an answer. No service sends a longer one. */
const lineCharactersMax = 4 * 1_024 * 1_024

/** Parses NDJSON. Yields undefined for a line that is not JSON, or is too long. After one that is too long, ends. */
async function* recordsOf(response: IncomingMessage): AsyncGenerator {
  let held = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = `${held}${chunk}`.split('\n')
    held = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield parseJson(line)
    if (held.length > lineCharactersMax) {
      yield undefined
      return
    }
  }
  if (held !== '') yield parseJson(held)
}

/** Opens the deliveries of a running service. `reveal` asks for whole URLs of endpoints. */
export function remoteDeliveries(api: ServiceApi, reveal: boolean): Deliveries {
  const queryOf = (parameters: Parameters): string =>
    queryText({ ...parameters, reveal: reveal ? 'true' : undefined })
  const change = async (
    kind: 'retry' | 'discard',
    request: ChangeRequest,
  ): Promise<ChangeResult> => {
    const { filter, limit, after } = request
    const conditions = conditionsOf(filter)
    const isAll = Object.values(conditions).every((condition) => condition === undefined)
    const body = { ...conditions, ...(isAll ? { all: true } : {}), limit, after }
    const path = `v1/deliveries/${kind}`
    return api.read(kind, path, body)
  }
  return {
    list: async ({ filter, limit, beforeId }) => {
      const query = queryOf({ limit, before: beforeId, ...conditionsOf(filter) })
      const path = `v1/deliveries${query}`
      return (await api.read('deliveries', path)).deliveries
    },
    story: ({ destinationId, id }) => {
      const path = `v1/deliveries/${encodeURIComponent(destinationId)}/${id}${queryOf({})}`
      return api.find('story', path)
    },
    retry: (request) => change('retry', request),
    discard: (request) => change('discard', request),
    audit: () => api.read('audit', 'v1/audit'),
    destinations: async () => {
      const path = `v1/destinations${queryOf({})}`
      return (await api.read('destinations', path)).destinations
    },
  }
}

type Parameters = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** Formats the query of a URL, with its question mark; empty without parameters. A list repeats its parameter. */
export function queryText(parameters: Parameters): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    for (const each of [value].flat()) if (each !== undefined) query.append(name, String(each))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

function conditionsOf(filter: DeliveryFilter): Parameters {
  const { destinationId, id, sinceMs, untilMs } = filter
  const isOne = destinationId !== undefined && id !== undefined
  // A time can be too early to format as a date, so send 1970 at the earliest.
  const written = (atMs: number | undefined): string | undefined =>
    atMs === undefined ? undefined : formatTimestamp(Math.max(atMs, 0))
  return {
    id: isOne ? formatDeliveryId({ destinationId, id }) : undefined,
    destination: isOne ? undefined : destinationId,
    state: filter.states,
    type: filter.types,
    user: filter.userId,
    message: filter.messageId,
    since: written(sinceMs),
    until: written(untilMs),
  }
}

/** A request to a service or a receiver. */
export interface HttpRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly body?: Iterable<string> | AsyncIterable<Uint8Array>
}

/** Resolves when the answer begins. Has no timeout. Follows no redirects: they could pass the token to another host. */
export function sendRequest(
  url: URL,
  { body = [], ...options }: HttpRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    // Keep listening after the answer has begun: without a listener, an error would crash the process.
    const request = send(url, options).on('response', resolve).on('error', reject)
    pipeline(Readable.from(body), request).catch((error: unknown) =>
      request.destroy(error as Error),
    )
  })
}

interface JsonReply {
  readonly status: number
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown
}

/** Reads the status and the whole body of an answer. */
export async function jsonReply(response: IncomingMessage): Promise<JsonReply> {
  return { status: response.statusCode ?? 0, body: parseJson(await text(response)) }
}
