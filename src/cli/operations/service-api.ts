import { once } from 'node:events'
import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import {
  evrouteVersion,
  EvrouteError,
  messageOf,
  plainText,
  SettingError,
  systemCode,
} from '../../model/index.ts'
import { recordsOf } from './record-lines.ts'
import type { ServicePlace } from './service-place.ts'

/** Time that a service has for one answer; one that is streamed may take any time. */
const answerTimeoutMs = 30_000
/** Time for the answer to a change once the command is to end early: without it the outcome is unknown. */
const changeGraceMs = 1_000

/** What a service is asked. */
export interface Question {
  /** Below the URL of the API. */
  readonly path: string
  /** Sent as JSON, by POST. */
  readonly body?: object
}

/** What a service is given to work on; it tells what it does meanwhile. */
export interface Upload {
  /** Below the URL of the API. */
  readonly path: string
  /** Sent as it comes, by POST. */
  readonly body: AsyncIterable<Uint8Array>
}

/** What a service answers. */
export interface Reply {
  /** The status of the answer. */
  readonly status: number
  /** Its body, parsed; undefined where that is no JSON. */
  readonly body: unknown
}

/** Reads an answer of a service; undefined when it is something else. */
export type ReadAnswer<Value> = (answer: unknown) => Value | undefined

/** A refusal of a service that its asker may expect. */
export class ServiceRefusal extends Error {
  override readonly name: string = 'ServiceRefusal'
  /** The stable name that programs compare. */
  readonly code: string
  /** What it is to who did not expect it. */
  readonly error: EvrouteError

  constructor(code: string, error: EvrouteError) {
    super(error.message)
    this.code = code
    this.error = error
  }
}

/** The admin API of a running service, and what is said of one that cannot be asked. */
export class ServiceApi {
  /** Where it is. */
  readonly url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #stop: AbortSignal
  readonly #stopOfChanges = new AbortController()

  /** @param stop - ends questions early, with its reason as the error */
  constructor({ url, token }: ServicePlace, stop: AbortSignal) {
    this.url = url
    this.#stop = stop
    const stopChanges = (): void => this.#stopOfChanges.abort(stop.reason)
    const stopSoon = (): void => void setTimeout(stopChanges, changeGraceMs).unref()
    stop.addEventListener('abort', stopSoon, { once: true })
    this.#headers = {
      accept: 'application/json',
      // The bytes of a header stand for themselves.
      authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
      'user-agent': `evroute/${evrouteVersion}`,
    }
  }

  /**
   * Asks, and reads the answer.
   *
   * @throws EvrouteError as {@link ServiceApi.ask} and {@link ServiceApi.understand} do
   */
  async read<Value>(question: Question, read: ReadAnswer<Value>): Promise<Value> {
    return this.understand(await this.ask(question), read)
  }

  /**
   * Reads an answer.
   *
   * @throws SettingError for a token that is wrong, a question that is refused, and who is no service of
   * ours; EvrouteError `store_unusable` for a service that fails
   */
  understand<Value>(reply: Reply, read: ReadAnswer<Value>): Value {
    if (reply.status !== 200) throw this.#refused(reply)
    const value = read(reply.body)
    if (value === undefined) throw this.stranger()
    return value
  }

  /**
   * Asks; any status is an answer.
   *
   * @throws EvrouteError `store_unusable` for a service that does not answer
   */
  async ask({ path, body }: Question): Promise<Reply> {
    const timeout = AbortSignal.timeout(answerTimeoutMs)
    const isChange = body !== undefined
    const stop = isChange ? this.#stopOfChanges.signal : this.#stop
    const signal = AbortSignal.any([timeout, stop])
    try {
      const response = await fetch(this.#urlOf(path), {
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
      if (stop.aborted) throw isChange ? this.#unanswered() : error
      const timedOut = `no answer within ${answerTimeoutMs / 1_000} s`
      throw this.#unreachable(error, timeout.aborted ? timedOut : undefined)
    }
  }

  /**
   * Sends bytes of any number, and gives what the service tells, record by record, while it works on
   * them; however long that takes. Where it is ended early the connection is cut, so that the service
   * does not take what it has for all.
   *
   * @throws ServiceRefusal where the service does not begin; EvrouteError `store_unusable` where it does
   * not answer or breaks off; whatever keeps the bytes from being read
   */
  async *upload({ path, body }: Upload): AsyncGenerator {
    const input = new WatchedInput(body)
    const request = this.#post(path)
    // Whatever fails on the way fails the answer too; an answer may come before all was sent.
    void pipeline(input.bytes(), request).catch((error: unknown) =>
      request.destroy(error instanceof Error ? error : new Error(messageOf(error))),
    )
    try {
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      if (response.statusCode !== 200) throw await this.#refusalOf(response)
      yield* recordsOf(response)
    } catch (error) {
      if (input.failure !== undefined) throw input.failure.error
      this.#stop.throwIfAborted()
      if (error instanceof EvrouteError || error instanceof ServiceRefusal) throw error
      throw this.#unreachable(error)
    } finally {
      request.destroy()
    }
  }

  /** Something answers, but not like the admin API of evroute. */
  stranger(): EvrouteError {
    return new SettingError(
      '--api',
      `What answers at ${this.url} is not the admin API of evroute, or of another version`,
      'Check the URL: the admin API has a port of its own, 4001 unless it is configured otherwise.',
    )
  }

  /** The service could not go on, and says why. */
  failed({ code, message }: { readonly code: string; readonly message: string }): EvrouteError {
    // What it was given cannot be used, which it only saw while it worked.
    if (code === 'invalid_request') return new SettingError('--api', this.#refusal(message))
    return this.brokenOff(message)
  }

  /** The service stopped in the middle of its work. */
  brokenOff(why: string): EvrouteError {
    return new EvrouteError({
      code: 'store_unusable',
      message: `The service at ${this.url} broke off: ${plainText(why)}`,
      hint: 'What it has done stays; see its log, and run the command again.',
    })
  }

  #urlOf(path: string): URL {
    const base = this.url.replace(/[?#].*$/s, '').replace(/\/*$/, '/')
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
    const reply = { status: response.statusCode ?? 0, body: parsed(await text(response)) }
    const error = this.#refused(reply)
    const refusal = refusalIn(reply)
    return refusal === undefined ? error : new ServiceRefusal(refusal.code, error)
  }

  #refused(reply: Reply): EvrouteError {
    const refusal = refusalIn(reply)
    if (refusal === undefined) return this.stranger()
    const message = this.#refusal(refusal.message)
    if (reply.status === 401) {
      return new SettingError(
        '--token',
        `The service at ${this.url} does not accept the token`,
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

  #unanswered(): EvrouteError {
    return new EvrouteError({
      code: 'store_unusable',
      message: `The service at ${this.url} did not answer before the command was interrupted: it may have done what was asked`,
      hint: 'Ask the service for its state before you run the command again.',
    })
  }

  #refusal(message: string): string {
    return `The service at ${this.url} refuses: ${plainText(message)}`
  }

  #unreachable(error: unknown, known?: string): EvrouteError {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    // It speaks, but no HTTP.
    const isParserError =
      cause instanceof Error &&
      (cause.name === 'HTTPParserError' || systemCode(cause)?.startsWith('HPE_') === true)
    if (isParserError) return this.stranger()
    const reason = known ?? systemCode(cause) ?? messageOf(cause)
    return new EvrouteError({
      code: 'store_unusable',
      message: `Cannot reach the service at ${this.url}: ${reason}`,
      hint: 'Check that `evroute serve` runs there, and that the URL is the one of its admin API.',
      cause: error,
    })
  }
}

/** Why a service refuses, in its own words; undefined where an answer says nothing of that. */
export function refusalIn({
  body,
}: Reply): { readonly code: string; readonly message: string } | undefined {
  const { error } = (body ?? {}) as { readonly error?: unknown }
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined
}

/** Bytes that remember why they could not be read: a connection has errors of its own. */
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

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
