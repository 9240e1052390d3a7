import { once } from 'node:events'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { StringDecoder } from 'node:string_decoder'
import {
  evrouteVersion,
  EvrouteError,
  isJsonObject,
  messageOf,
  parseJson,
  plainText,
  SettingError,
  systemCode,
} from '../../model/index.ts'
import type { ServiceAccess } from './access.ts'

/** Timeout for an answer. Streamed answers have none. */
const answerTimeoutMs = 30_000
/** Extra time for the answer to a change after a signal. Without the answer, the outcome is unknown. */
const changeGraceMs = 1_000

/** A request to a service. It is a POST if it has a body. */
export interface Question {
  /** Relative to the URL of the API. */
  readonly path: string
  readonly body?: object
}

/** A POST with a streamed body. The service reports progress meanwhile. */
export interface Upload {
  readonly path: string
  readonly body: AsyncIterable<Uint8Array>
}

/** A record of the API. Its version fixes the fields of each kind. */
export type ServiceRecord = Readonly<Record<string, unknown>> & { readonly kind: string }

interface Reply {
  readonly status: number
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown
}

/** A refusal that the caller may expect. */
export class ServiceRefusal extends Error {
  override readonly name: string = 'ServiceRefusal'
  readonly code: string
  /** The error to throw if the caller does not expect the refusal. */
  readonly error: EvrouteError

  constructor(code: string, error: EvrouteError) {
    super(error.message)
    this.code = code
    this.error = error
  }
}

/** A client for the admin API of a running service. Its errors explain why the service cannot be asked. */
export class ServiceApi {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #stop: AbortSignal
  readonly #stopOfChanges = new AbortController()

  /** @param stop - aborts requests; its reason becomes the error */
  constructor({ url, token }: ServiceAccess, stop: AbortSignal) {
    this.#url = url
    this.#stop = stop
    const stopChanges = (): void => this.#stopOfChanges.abort(stop.reason)
    const stopSoon = (): void => void setTimeout(stopChanges, changeGraceMs).unref()
    stop.addEventListener('abort', stopSoon, { once: true })
    this.#headers = {
      accept: 'application/json',
      // `fetch` writes headers as Latin-1, so this keeps the token's UTF-8 bytes.
      authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
      'user-agent': `evroute/${evrouteVersion}`,
    }
  }

  /**
   * Sends a request and returns the record of the answer.
   *
   * @throws SettingError for a wrong token, a refused request, or an answer that does not come from evroute;
   * EvrouteError `store_unusable` for a service that fails or does not answer
   */
  async read<Answer>(question: Question, kind: string): Promise<Answer> {
    return this.#recordOf(await this.#ask(question), kind) as Answer
  }

  /** Like {@link ServiceApi.read}; undefined if the service does not find what the path names. */
  async find<Answer>(path: string, kind: string): Promise<Answer | undefined> {
    const reply = await this.#ask({ path })
    if (refusalIn(reply)?.code === 'not_found') return undefined
    return this.#recordOf(reply, kind) as Answer
  }

  /**
   * Streams bytes to the service and yields its records while it works, without a timeout. If the command
   * must end early, cuts the connection. Otherwise the service would take a part of a list for the whole
   * list.
   *
   * @throws ServiceRefusal if the service refuses to begin; EvrouteError `store_unusable` if it does not
   * answer or breaks off; any error of reading the bytes
   */
  async *upload({ path, body }: Upload): AsyncGenerator<ServiceRecord> {
    const input = new WatchedInput(body)
    const request = this.#post(path)
    // If the upload fails, the answer must fail too. An answer may arrive before the upload has ended.
    void pipeline(input.bytes(), request).catch((error: unknown) =>
      request.destroy(error instanceof Error ? error : new Error(messageOf(error))),
    )
    try {
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      if (response.statusCode !== 200) throw await this.#refusalOf(response)
      for await (const record of recordsOf(response)) {
        if (!isRecord(record)) throw this.stranger()
        yield record
      }
    } catch (error) {
      if (input.failure !== undefined) throw input.failure.error
      this.#stop.throwIfAborted()
      if (error instanceof EvrouteError || error instanceof ServiceRefusal) throw error
      throw this.#unreachable(error)
    } finally {
      request.destroy()
    }
  }

  /** Makes the error for an answer that does not come from this version of evroute's admin API. */
  stranger(): EvrouteError {
    return new SettingError(
      '--api',
      `The server at ${this.#url} does not answer as the admin API of this version of evroute`,
      'Check the URL: the admin API has a port of its own, 4001 unless it is configured otherwise.',
    )
  }

  /** Makes the error for a service that reports a failure in the middle of its work. */
  failed({ code, message }: { readonly code: string; readonly message: string }): EvrouteError {
    // The service noticed invalid input only during its work.
    return code === 'invalid_request' ? this.#refuses(message) : this.brokenOff(message)
  }

  /** Makes the error for a service that stopped in the middle of its work. */
  brokenOff(why: string): EvrouteError {
    const hint = 'Its changes so far stay; see its log, and run the command again.'
    return unusable(`The service at ${this.#url} broke off: ${plainText(why)}`, hint)
  }

  /** Sends a request. Returns the reply whatever its status: an error status does not throw. */
  async #ask({ path, body }: Question): Promise<Reply> {
    const timeout = AbortSignal.timeout(answerTimeoutMs)
    const isChange = body !== undefined
    const stop = isChange ? this.#stopOfChanges.signal : this.#stop
    try {
      const response = await fetch(this.#urlOf(path), {
        method: isChange ? 'POST' : 'GET',
        headers: { ...this.#headers, ...(isChange ? { 'content-type': 'application/json' } : {}) },
        body: isChange ? JSON.stringify(body) : null,
        // A redirect could take the token to another host.
        redirect: 'manual',
        signal: AbortSignal.any([timeout, stop]),
      })
      return { status: response.status, body: parseJson(await response.text()) }
    } catch (error) {
      if (stop.aborted) throw isChange ? this.#unanswered() : error
      const timedOut = `no answer within ${answerTimeoutMs / 1_000} s`
      throw this.#unreachable(error, timeout.aborted ? timedOut : undefined)
    }
  }

  #recordOf(reply: Reply, kind: string): ServiceRecord {
    if (reply.status !== 200) throw this.#refused(reply)
    const { body } = reply
    if (!isRecord(body) || body.kind !== kind) throw this.stranger()
    return body
  }

  #urlOf(path: string): URL {
    const base = this.#url.replace(/[?#].*$/s, '').replace(/\/*$/, '/')
    return new URL(path, base)
  }

  #post(path: string): ClientRequest {
    const url = this.#urlOf(path)
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    return send(url, {
      method: 'POST',
      headers: {
        ...this.#headers,
        accept: 'application/x-ndjson, application/json',
        'content-type': 'application/octet-stream',
      },
      signal: this.#stop,
    })
  }

  async #refusalOf(response: IncomingMessage): Promise<Error> {
    const reply = { status: response.statusCode ?? 0, body: parseJson(await text(response)) }
    const error = this.#refused(reply)
    const refusal = refusalIn(reply)
    return refusal === undefined ? error : new ServiceRefusal(refusal.code, error)
  }

  #refused(reply: Reply): EvrouteError {
    const refusal = refusalIn(reply)
    if (refusal === undefined) return this.stranger()
    if (reply.status === 401) {
      return new SettingError(
        '--token',
        `The service at ${this.#url} does not accept the token`,
        'It is the admin token of its configuration; pass it with --token or EVROUTE_ADMIN_TOKEN.',
      )
    }
    const error = this.#refuses(refusal.message)
    return reply.status < 500 ? error : unusable(error.message, 'See the log of the service.')
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
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    // The server does not speak HTTP.
    const isParserError =
      cause instanceof Error &&
      (cause.name === 'HTTPParserError' || systemCode(cause)?.startsWith('HPE_') === true)
    if (isParserError) return this.stranger()
    const reason = known ?? systemCode(cause) ?? messageOf(cause)
    return unusable(
      `Cannot reach the service at ${this.#url}: ${reason}`,
      'Check that `evroute serve` runs there, and that the URL is the one of its admin API.',
      error,
    )
  }
}

function unusable(message: string, hint: string, cause?: unknown): EvrouteError {
  return new EvrouteError({ code: 'store_unusable', message, hint, cause })
}

function isRecord(value: unknown): value is ServiceRecord {
  return isJsonObject(value) && value['v'] === 1 && typeof value['kind'] === 'string'
}

/** Returns the service's own reason for a refusal; undefined if the body has none. */
function refusalIn({
  body,
}: Reply): { readonly code: string; readonly message: string } | undefined {
  const { error } = isJsonObject(body) ? body : {}
  const { code, message } = isJsonObject(error) ? error : {}
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined
}

/** Remembers why the input could not be read, because the request itself fails with a different error. */
class WatchedInput {
  readonly #given: AsyncIterable<Uint8Array>
  failure: { readonly error: unknown } | undefined

  constructor(given: AsyncIterable<Uint8Array>) {
    this.#given = given
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#given
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }
}

/** Maximum length of a line. No service sends a longer one. */
const lineCharactersMax = 4 * 1_024 * 1_024

/**
 * Parses a stream of NDJSON, line by line. Yields undefined for a line that is not JSON. The last line
 * needs no line break.
 */
async function* recordsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator {
  const decoder = new StringDecoder('utf8')
  let held = ''
  for await (const chunk of bytes) {
    const lines = `${held}${decoder.write(Buffer.from(chunk))}`.split('\n')
    held = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield parseJson(line)
    if (held.length > lineCharactersMax) {
      yield undefined
      return
    }
  }
  if (held !== '') yield parseJson(held)
}
