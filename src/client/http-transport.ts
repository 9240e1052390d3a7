import type * as Http from 'node:http'
import type * as Https from 'node:https'
import { setImmediate as afterThisTurn } from 'node:timers'
import { urlToHttpOptions } from 'node:url'
import type { AnswerLimits, readAnswer } from '../http/index.ts'
import { evrouteVersion, messageOf, systemCode } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'
import { verdict } from './verdict.ts'

/** Enough for a list that rejects every call of a batch. */
const answerLimits: AnswerLimits = { readBytesMax: 1024 * 1024, keptBytesMax: 1024 * 1024 }

/** Where a transport posts batches, with which key, and how long it waits for an answer. */
export interface HttpTransportOptions {
  /** The request URL, http or https. */
  readonly endpoint: string
  /** The source's write key, which is sent as the user name of Basic authentication, with an empty password. */
  readonly writeKey: string
  /** How long a request may take in milliseconds, including connecting. */
  readonly timeoutMs: number
  /** Tells how far away a date in `Retry-After` is. Virtual time stands still while a request is in flight. */
  readonly clock: Clock
}

/**
 * Makes a transport that posts batches to an endpoint over its own connections. It never compresses bodies or follows
 * redirects. The timeout runs in real time. NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment turns off the check of
 * certificates.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { endpoint, writeKey, timeoutMs, clock } = options
  const { protocol, hostname, port, path } = urlToHttpOptions(new URL(endpoint))
  const authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
  const opened = openConnections(protocol === 'https:')
  const send = async ({ body }: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> => {
    const release = clock.hold()
    try {
      const { http, agent, readAnswer } = await opened
      const headers = {
        authorization,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': `evroute/${evrouteVersion}`,
      }
      const target = { protocol, hostname, port, path, method: 'POST', agent, headers }
      return await exchange(http.request(target), body, { signal, timeoutMs, clock, readAnswer })
    } finally {
      release()
    }
  }
  const close = async (): Promise<void> => {
    const { agent } = await opened
    agent.destroy()
  }
  return Object.freeze({ send, close })
}

interface ExchangeOptions extends Pick<HttpTransportOptions, 'timeoutMs' | 'clock'> {
  readonly signal: AbortSignal
  readonly readAnswer: typeof readAnswer
}

function exchange(
  request: Http.ClientRequest,
  body: string,
  { signal, timeoutMs, clock, readAnswer }: ExchangeOptions,
): Promise<TransportOutcome> {
  return new Promise((resolve) => {
    const end = (outcome: TransportOutcome): void => {
      deadline.cancel()
      signal.removeEventListener('abort', giveUp)
      resolve(outcome)
    }
    let isAnswered = false
    let failure = new Error('the connection was closed without an answer')
    request.on('response', (response) => {
      isAnswered = true
      void readAnswer(response, answerLimits).then((answer) => end(verdict(answer, clock.nowMs())))
    })
    request.on('error', (error) => (failure = error))
    // Some requests close without an error. Once an answer has begun, its end also ends the exchange.
    request.on('close', () => {
      if (!isAnswered) end({ kind: 'retry', reason: reasonOf(failure) })
    })
    const timeUp = () => request.destroy(new DeadlineError(`No answer within ${timeoutMs} ms`))
    // After a program was blocked or suspended, timers run before the answer that has arrived meanwhile is read.
    const deadline = systemClock.schedule(timeoutMs, () => afterThisTurn(timeUp))
    const giveUp = () => request.destroy(new Error('the client aborted the request'))
    signal.addEventListener('abort', giveUp)
    if (signal.aborted) giveUp()
    else request.end(body)
  })
}

/** Loads HTTP only when it is needed, because it takes longer to load than the rest of a client. */
async function openConnections(isSecure: boolean) {
  // Tools that intercept or trace requests replace functions of the default export only.
  const { default: http }: { default: typeof Http | typeof Https } = isSecure
    ? await import('node:https')
    : await import('node:http')
  const { readAnswer } = await import('../http/index.ts')
  // Use the global agent's proxy and certificate authorities. Its timeout would close idle connections.
  const { options } = http.globalAgent as Https.Agent
  const agent = new http.Agent({ ...options, keepAlive: true, timeout: undefined })
  return { http, agent, readAnswer }
}

class DeadlineError extends Error {}

function reasonOf(error: Error): string {
  if (error instanceof DeadlineError) return error.message
  // If a name has several addresses, the error has a code but no message.
  // Errors of TLS end with a line break.
  const message = messageOf(error).trim()
  return `The endpoint cannot be reached: ${message || (systemCode(error) ?? 'unknown')}`
}
