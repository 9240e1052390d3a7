import type { IncomingMessage } from 'node:http'
import type { RequestOptions } from 'node:https'
import {
  errorAnswer,
  passedOnHeaders,
  readAnswer,
  withHeaders,
  type AnswerLimits,
  type Header,
  type HttpAnswer,
} from '../http/index.ts'
import { parseMatch } from '../match/index.ts'
import {
  checkUrl,
  fullUrl,
  checkWholeNumber,
  endpointName,
  limits,
  messageOf,
  SettingError,
  type EventType,
} from '../model/index.ts'
import type { Clock, Runtime } from '../runtime/index.ts'
import { failureOutcome, judge } from '../webhook/index.ts'
import { accepted } from './answer.ts'
import { delayMsMax } from './faults/index.ts'
import { headersOf } from './inspect-request.ts'
import type { ReceivedEvent } from './received-event.ts'
import type { ReceiverOptions } from './settings.ts'

/** A target to which webhooks are forwarded. */
export interface ForwardTarget {
  /** The type of webhook that the target gets; null for all types that have no target of their own. */
  readonly type: EventType | null
  /** The URL, http or https. For this machine, `3000` and `localhost:3000/hook` are enough. */
  readonly url: string
}

/** How forwarding a request ended. */
export interface Forwarding {
  /** The URL to which the request was forwarded. */
  readonly url: string
  /** The status of the target's answer; null if there was none. */
  readonly status: number | null
  /** Time from the request to its answer, in milliseconds. */
  readonly durationMs: number
  /**
   * Why there was no answer: `timeout`, `interrupted` if the receiver closed, `loop` if this receiver had already
   * forwarded the request, `too_many_under_way`, or a system error such as `ECONNREFUSED`. Null if there was an answer.
   */
  readonly error: string | null
  /** The headers of the answer; empty if there was no answer. */
  readonly headers: Readonly<Record<string, string>>
  /** The first 4 KB of the answer's body as text; empty if there was no answer. */
  readonly answer: string
}

/** The parts of a received request that forwarding needs. */
export interface ForwardedRequest extends Pick<ReceivedEvent, 'type' | 'path' | 'rawBody'> {
  /** Only end-to-end headers are passed on. */
  readonly headers: readonly Header[]
}

/** The settings for forwarding, checked. */
export type ForwardingSettings = ReturnType<typeof checkForwarding>

const noAnswer = { status: null, headers: {}, answer: '' } as const
const answerLimits: AnswerLimits = { readBytesMax: 64 * 1024, keptBytesMax: 4 * 1024 }
/** Maximum requests in flight if there is no time limit. */
const endlessMax = 100

/** Forwards requests to an application, byte for byte, each over a new connection. */
export class Forwarder {
  readonly #settings: ForwardingSettings
  readonly #clock: Clock
  readonly #ends = new Set<AbortController>()
  /** The `Via` of forwarded requests. A received request that has it went in a circle. */
  readonly #via: string
  #closed = false

  constructor(settings: ForwardingSettings, { clock, newId }: Pick<Runtime, 'clock' | 'newId'>) {
    this.#settings = settings
    this.#clock = clock
    this.#via = `1.1 evroute-${newId()}`
  }

  /**
   * Posts a request with its bytes and headers to the target for its type, or else to the one for all other types. Adds
   * `Via`. Doesn't follow redirects. Refuses a request that this receiver has already forwarded. If no time limit is
   * set, also refuses requests while 100 are in flight. Never rejects. Returns undefined if there is no target for the
   * type.
   */
  async forward(received: ForwardedRequest): Promise<Forwarding | undefined> {
    const { targets } = this.#settings
    const target =
      targets.find(({ type }) => type === received.type) ??
      targets.find(({ type }) => type === null)
    if (target === undefined) return undefined
    const url = forwardUrl(target.url, received.path)
    const refused = { url: url.href, ...noAnswer, durationMs: 0 }
    if (this.#isOwn(received)) return { ...refused, error: 'loop' }
    if (this.#settings.timeoutMs === 0 && this.#ends.size >= endlessMax)
      return { ...refused, error: 'too_many_under_way' }
    const end = new AbortController()
    this.#ends.add(end)
    if (this.#closed) end.abort()
    try {
      return await this.#forward(received, url, end)
    } finally {
      this.#ends.delete(end)
    }
  }

  async #forward(
    received: ForwardedRequest,
    target: URL,
    end: AbortController,
  ): Promise<Forwarding> {
    const startedAtMs = this.#clock.nowMs()
    const { timeoutMs, headers: given, insecure } = this.#settings
    const url = target.href
    const timer = this.#endAfter(timeoutMs, end)
    const durationMs = (): number => this.#clock.nowMs() - startedAtMs
    try {
      const replaced = new Set(given.map(([name]) => name.toLowerCase()))
      const kept = passedOnHeaders(received.headers).filter(
        ([name]) => !replaced.has(name.toLowerCase()),
      )
      const sent: readonly Header[] = [...kept, ...given, ['via', this.#via]]
      const { rawBody } = received
      const options = { signal: end.signal, rejectUnauthorized: !insecure }
      const response = await post(target, { headers: sent, rawBody }, options)
      // Without a time limit, a body could arrive slowly for ever, so give the body 5 s.
      const rest = timeoutMs === 0 ? this.#endAfter(limits.endpointDeadlineMs, end) : timer
      const { status, text } = await readAnswer(response, answerLimits)
      rest?.cancel()
      const answer = { headers: headersOf(response), answer: text }
      return { url, status, durationMs: durationMs(), error: null, ...answer }
    } catch (error) {
      const code = this.#failureCode(error, end.signal)
      return { url, ...noAnswer, durationMs: durationMs(), error: code }
    } finally {
      timer?.cancel()
    }
  }

  close(): void {
    this.#closed = true
    for (const end of this.#ends) end.abort()
  }

  #isOwn({ headers }: ForwardedRequest): boolean {
    return headers.some(
      ([name, value]) =>
        name.toLowerCase() === 'via' && value.split(',').some((hop) => hop.trim() === this.#via),
    )
  }

  #endAfter(delayMs: number, end: AbortController): { cancel(): void } | undefined {
    return delayMs === 0 ? undefined : this.#clock.schedule(delayMs, () => end.abort())
  }

  #failureCode(error: unknown, { aborted }: AbortSignal): string {
    if (this.#closed) return 'interrupted'
    if (aborted) return 'timeout'
    const code = judge(failureOutcome(error)).error ?? 'connection_failed'
    if (code.startsWith('HPE_')) return 'malformed_answer'
    return messageOf(error) === 'socket hang up' ? 'connection_closed' : code
  }
}

/** Posts a request over a new connection, because a local application that restarted has closed the old ones. */
export async function post(
  url: URL,
  { headers, rawBody }: Pick<ForwardedRequest, 'headers' | 'rawBody'>,
  given: Pick<RequestOptions, 'path' | 'signal' | 'rejectUnauthorized'>,
): Promise<IncomingMessage> {
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host')
  const own: readonly Header[] = [
    ...(hasHost ? [] : [['Host', url.host] as const]),
    ['Content-Length', String(rawBody.length)],
  ]
  return new Promise((resolve, reject) => {
    request(url, { ...given, method: 'POST', agent: false, headers: [...own, ...headers].flat() })
      .on('response', resolve)
      .on('error', reject)
      // For a 101 answer, Node closes the connection without a `response` or an `error`.
      .on('close', () => reject(new Error('socket hang up')))
      .end(rawBody)
  })
}

/** Makes the URL for a request. A target without a path gets the path of the request; all targets get its query. */
function forwardUrl(target: string, path: string): URL {
  const url = new URL(target)
  const [own = '', query] = path.split(/\?(.*)/s)
  if (url.pathname === '/') url.pathname = own
  if (query !== undefined && query !== '') url.search += `${url.search === '' ? '' : '&'}${query}`
  return url
}

/** Completes the targets' URLs. Throws a SettingError for an unusable URL, or for two targets of the same type. */
export function checkForwardTargets(targets: readonly ForwardTarget[]): readonly ForwardTarget[] {
  for (const [index, { type }] of targets.entries()) {
    if (targets.findIndex((other) => other.type === type) === index) continue
    throw new SettingError(
      'forwardTo',
      `Cannot forward ${type ?? 'the same webhooks'} to two URLs: the sender can get only one status`,
      'Give one URL without a type, and one for each type that goes elsewhere: track=https://...',
    )
  }
  return targets.map(({ type, url }) => ({ type, url: checkUrl('forwardTo', fullUrl(url)) }))
}

const reservedHeader = /^(content-length|transfer-encoding|connection)$/i

/** Checks and completes the options for forwarding. Throws a SettingError with the option and its accepted values. */
export function checkForwarding({
  forwardTo = [],
  forwardTimeoutMs: timeoutMs = limits.endpointDeadlineMs,
  allowUnverified = false,
  forwardHeaders = {},
  forwardInsecure: insecure = false,
  forwardFilter,
}: ReceiverOptions) {
  checkWholeNumber('forwardTimeoutMs', timeoutMs, [0, delayMsMax])
  const targets = Object.freeze(checkForwardTargets(forwardTo))
  const headers = Object.entries(forwardHeaders)
  const [reserved] = headers.find(([name]) => reservedHeader.test(name)) ?? []
  if (reserved !== undefined) {
    const message = `Cannot set ${reserved}: evroute controls this header`
    throw new SettingError('forwardHeaders', message, 'Leave it out.')
  }
  const filter = forwardFilter === undefined ? undefined : parseMatch(forwardFilter)
  return Object.freeze({ targets, timeoutMs, allowUnverified, headers, insecure, filter })
}

/** Returns the headers of a request as they were sent, with their letter case and repetitions. */
export function rawHeadersOf({ rawHeaders }: IncomingMessage): readonly Header[] {
  const headers: Header[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? ''])
  }
  return headers
}

/** The status that the sender gets, by the error of forwarding; 502 for all other errors. */
const failureStatuses: ReadonlyMap<string, number> = new Map([
  ['timeout', 504],
  ['loop', 508],
  ['too_many_under_way', 503],
])

/** Makes the answer to a forwarded request, without the target's URL, because the sender may be a different machine. */
export function forwardedAnswer({ status, error, headers }: Forwarding): HttpAnswer {
  if (status === null) {
    const message = `Cannot forward to the target: ${error ?? ''}`
    return errorAnswer(failureStatuses.get(error ?? '') ?? 502, 'forward_failed', message)
  }
  if (status >= 200 && status < 300) return accepted(status)
  const answer = errorAnswer(status, 'forwarded_status', `The target answered ${status}`)
  const retryAfter = headers['retry-after']
  return retryAfter === undefined ? answer : withHeaders(answer, { 'retry-after': retryAfter })
}

const localNames = new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '[::]'])

/** Checks that no target is the receiver itself. Throws a SettingError `forwardTo` naming the target. */
export function checkNotOwn(targets: readonly ForwardTarget[], ownUrls: readonly string[]): void {
  for (const { url } of targets) {
    if (!ownUrls.some((own) => isSameAddress(new URL(url), new URL(own)))) continue
    throw new SettingError(
      'forwardTo',
      `Cannot forward to ${endpointName(url)}: the receiver itself listens there`,
      'Give the URL of your application, or listen on a different port.',
    )
  }
}

function isSameAddress(target: URL, own: URL): boolean {
  if (target.port !== own.port) return false
  const isLocal = [target, own].every(({ hostname }) => localNames.has(hostname))
  return isLocal || target.hostname === own.hostname
}
