import type * as Http from 'node:http'
import type * as Https from 'node:https'
import { urlToHttpOptions } from 'node:url'
import { headerValue, type Answer } from '../http/index.ts'
import { evrouteVersion, messageOf, systemCode } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { HttpTransportOptions } from './http-transport.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'
import { verdict } from './verdict.ts'

/** Maximum size of an answer, enough for a list that rejects every call of a batch. */
const answerBytesMax = 1024 * 1024

/** Posts batches over its own connections. */
export class PooledTransport implements Transport {
  readonly #http: typeof Http | typeof Https
  readonly #agent: Http.Agent
  readonly #target: ReturnType<typeof urlToHttpOptions>
  readonly #authorization: string
  readonly #timeoutMs: number
  readonly #clock: Clock

  /** @param http - Node's module for the protocol of the endpoint */
  constructor(
    http: typeof Http | typeof Https,
    { endpoint, writeKey, timeoutMs, clock }: HttpTransportOptions,
  ) {
    this.#http = http
    // Use the global agent's proxy and authorities, but not its timeout, which would close idle connections.
    const { options } = http.globalAgent as Https.Agent
    this.#agent = new http.Agent({ ...options, keepAlive: true, timeout: undefined })
    this.#target = urlToHttpOptions(new URL(endpoint))
    this.#authorization = `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  /** Posts one batch, and resolves with the outcome. */
  send({ body }: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> {
    return new Promise((resolve) => {
      const end = (outcome: TransportOutcome): void => {
        deadline.cancel()
        signal.removeEventListener('abort', giveUp)
        resolve(outcome)
      }
      let isAnswered = false
      const { protocol, hostname, port, path } = this.#target
      const request = this.#http.request(
        {
          protocol,
          hostname,
          port,
          path,
          method: 'POST',
          agent: this.#agent,
          headers: {
            authorization: this.#authorization,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            'user-agent': `evroute/${evrouteVersion}`,
          },
        },
        (response) => {
          isAnswered = true
          collectAnswer(response, (answer) => end(verdict(answer, this.#clock.nowMs())))
        },
      )
      let failure = new Error('the connection was closed without an answer')
      request.on('error', (error) => (failure = error))
      // Some requests close without an error. Once an answer begins, `collectAnswer` reports its end.
      request.on('close', () => {
        if (!isAnswered) end({ kind: 'retry', reason: reasonOf(failure) })
      })
      const deadline = systemClock.schedule(this.#timeoutMs, () => {
        request.destroy(new DeadlineError(`No answer within ${this.#timeoutMs} ms`))
      })
      const giveUp = () => request.destroy(new Error('no one is waiting for it any more'))
      signal.addEventListener('abort', giveUp)
      if (signal.aborted) giveUp()
      else request.end(body)
    })
  }

  /** Closes all connections, even those in use. */
  close(): Promise<void> {
    this.#agent.destroy()
    return Promise.resolve()
  }
}

/** Reads an answer until it ends, is cut off or is too long. */
function collectAnswer(response: Http.IncomingMessage, collected: (answer: Answer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > answerBytesMax) response.destroy()
    else chunks.push(chunk)
  })
  // Ignore an error: `close` follows it, and `complete` is then false.
  response.on('error', () => undefined)
  response.on('close', () => {
    collected({
      status: response.statusCode ?? 0,
      retryAfter: headerValue(response.headers['retry-after']),
      text: Buffer.concat(chunks).toString('utf8'),
      isWhole: response.complete && bytes <= answerBytesMax,
    })
  })
}

class DeadlineError extends Error {}

function reasonOf(error: Error): string {
  if (error instanceof DeadlineError) return error.message
  // If a name has several addresses, the error has a code but no message.
  return `The endpoint cannot be reached: ${messageOf(error) || (systemCode(error) ?? 'unknown')}`
}
