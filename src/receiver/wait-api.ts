import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  closeOf,
  errorAnswer,
  foreignSign,
  isForeignOrigin,
  jsonAnswer,
  sendAnswer,
  type HttpAnswer,
} from '../http/index.ts'
import { parseMatch, type ExpectationResult } from '../match/index.ts'
import { EvrouteError, parseDuration, recordLine, SettingError } from '../model/index.ts'
import { apiPrefix, drained, isLocalRequest, NotFoundError, readQuery } from './api-exchange.ts'
import { eventRecord } from './event-record.ts'
import type { JudgedExpectation } from './expectations.ts'
import type { Inspected } from './inspector/inspected.ts'
import type { Inspector } from './inspector/inspector.ts'
import type { ReceivedEvent } from './received-event.ts'

/**
 * The HTTP API of a receiver for programs in other languages. `inspector/` handles all other paths.
 *
 * - `GET /_evroute/wait?match=<match or expectation>&after=<seq>&timeout=10s` waits until the expectation is decided,
 *   for 4 s by default. If it is met, answers 200 with the `expectation` and the record of the last counted event, if
 *   there is one. When the time is up, answers 408 `expectation_unmet` with the `nearest` event and its `difference`.
 *   As soon as too many events have arrived, answers 409 with the `surplus` event
 * - `GET /_evroute/events?match=<match>&after=<seq>`: the records of the kept events, as NDJSON
 *
 * Invalid requests get 400. Requests that may come from a different machine, or from a web page on a different origin,
 * get 403, because payloads are private. A browser that opened the page's link, or a program that sends the receiver's
 * token, may be on any machine.
 */
export class WaitApi {
  readonly #inspected: Inspected
  #inspector: Promise<Inspector> | undefined

  constructor(inspected: Inspected) {
    this.#inspected = inspected
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('cache-control', 'no-store')
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    if (this.#signIn(request, response, searchParams)) return
    const foreign = foreignAnswer(request, this.#inspected)
    if (foreign !== undefined) {
      sendAnswer(response, foreign)
      return
    }
    try {
      switch (pathname.slice(apiPrefix.length)) {
        case 'wait':
          sendAnswer(response, await this.#wait(searchParams, response))
          return
        case 'events':
          await this.#sendEvents(searchParams, response)
          return
        default:
          if (await (await this.#openInspector()).answer(request, response)) return
          sendAnswer(response, errorAnswer(404, 'not_found', 'There is nothing at this path'))
      }
    } catch (error) {
      sendAnswer(response, answerOf(error))
    }
  }

  /** Opens a session if a browser sends the token of the page's link. Returns whether it answered the request. */
  #signIn(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): boolean {
    const { sessions } = this.#inspected
    const token = query.get('token')
    if (sessions === undefined || token === null || request.method === 'POST') return false
    const cookie = sessions.useLink(token, request)
    if (cookie === undefined) return false
    response.writeHead(303, { 'set-cookie': cookie, location: apiPrefix }).end()
    return true
  }

  /** Loads the inspector on first use, because most receivers don't need it. */
  #openInspector(): Promise<Inspector> {
    this.#inspector ??= import('./inspector/inspector.ts').then(
      ({ Inspector }) => new Inspector(this.#inspected),
    )
    return this.#inspector
  }

  async #wait(query: URLSearchParams, response: ServerResponse): Promise<HttpAnswer> {
    const { match, after, timeout } = readQuery(query, ['match', 'after', 'timeout'])
    if (match === undefined)
      throw new SettingError('match', 'Cannot wait: the parameter "match" is missing')
    const judged = await this.#inspected.expectations.judge(match, {
      after: readSeq(after),
      timeoutMs: readTimeout(timeout),
      signal: closeOf(response),
    })
    return judgedAnswer(judged)
  }

  async #sendEvents(query: URLSearchParams, response: ServerResponse): Promise<void> {
    const { match, after } = readQuery(query, ['match', 'after'])
    const wanted = match === undefined ? undefined : parseMatch(match)
    const afterSeq = readSeq(after) ?? 0
    response.setHeader('content-type', 'application/x-ndjson')
    for (const event of this.#inspected.log.events) {
      if (event.seq <= afterSeq || wanted?.test(event) === false) continue
      if (response.destroyed) return
      if (!response.write(recordLine(eventRecord(event)))) await drained(response)
    }
    response.end()
  }
}

function foreignAnswer(
  request: IncomingMessage,
  { sessions, isToken }: Inspected,
): HttpAnswer | undefined {
  const { headers, url } = request
  if (isToken?.(headers.authorization) === true) return undefined
  if (sessions?.isOpen(request) === true) {
    return isForeignOrigin(headers, url) ? refusal('foreign_origin') : undefined
  }
  // Check the address too, because the client can send any Host.
  const sign = isLocalRequest(request) ? foreignSign(headers, url) : 'not_local'
  return sign && refusal(sign, sessions !== undefined)
}

const refusals = {
  not_local: ['not_local', 'Only this machine may use the API, and not through a proxy'],
  foreign_host: ['host_not_allowed', 'Use a loopback name or address, such as localhost'],
  foreign_origin: ['origin_not_allowed', 'Web pages on a different origin may not use the API'],
} as const

/** @param hasLink - whether the receiver has printed a link that opens a session */
function refusal(why: keyof typeof refusals, hasLink = false): HttpAnswer {
  const [code, message] = refusals[why]
  const other = hasLink
    ? '. To use the page from elsewhere, open the link that evroute printed'
    : ''
  return errorAnswer(403, code, `${message}${other}`)
}

function judgedAnswer({ result, events }: JudgedExpectation): HttpAnswer {
  const { shortfall, ...expectation } = result
  if (shortfall !== undefined) return unmetAnswer(result)
  const event = events.at(-1)
  const record = event === undefined ? { kind: 'expectation' } : eventRecord(event)
  return jsonAnswer(200, { v: 1, ...record, expectation })
}

function unmetAnswer({ shortfall, ...expectation }: ExpectationResult<ReceivedEvent>): HttpAnswer {
  const message = `${expectation.text}: ${expectation.account}`
  const error = { code: 'expectation_unmet', message, expectation }
  if (shortfall?.reason === 'too_many') {
    return jsonAnswer(409, { error: { ...error, surplus: recordOf(shortfall.surplus) } })
  }
  const { nearest, difference = [], lateMs = 0, others = 0 } = shortfall ?? {}
  const near = { nearest: recordOf(nearest), difference, lateMs, others }
  return jsonAnswer(408, { error: { ...error, ...near } })
}

function recordOf(event: ReceivedEvent | undefined): object | null {
  return event === undefined ? null : { v: 1, ...eventRecord(event) }
}

/** Makes the answer for an error. Rethrows errors that are bugs of the receiver. */
function answerOf(error: unknown): HttpAnswer {
  if (error instanceof NotFoundError) return errorAnswer(404, 'not_found', error.message)
  if (!(error instanceof EvrouteError)) throw error
  const { code, message, hint } = error
  return jsonAnswer(error instanceof SettingError ? 400 : 409, { error: { code, message, hint } })
}

function readSeq(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new SettingError('after', 'Cannot use "after": it must be the seq of an event, such as 12')
}

function readTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const timeoutMs = parseDuration(text)
  if (timeoutMs !== undefined) return timeoutMs
  throw new SettingError(
    'timeout',
    'Cannot use "timeout": it must be a duration such as 500ms, 10s or 2m',
  )
}
