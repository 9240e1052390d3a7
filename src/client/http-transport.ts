import type { Dispatcher, Pool } from 'undici'
import { AnswerHandler, type AnswerLimits } from '../http/index.ts'
import { evrouteVersion, messageOf, systemCode } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'
import { verdict } from './verdict.ts'

/** How much of an answer is read: the list of a whole batch's rejected calls fits. */
const answerLimits: AnswerLimits = { readBytesMax: 1024 * 1024, keptBytesMax: 1024 * 1024 }

/** What an HTTP transport is made of. */
export interface HttpTransportOptions {
  /** The request URL, http or https. */
  readonly endpoint: string
  /** The source's write key: the user of Basic authentication, with an empty password. */
  readonly writeKey: string
  /** Time for one request, in milliseconds: connect, headers and body together. */
  readonly timeoutMs: number
  /** Tells the time against which a date in `Retry-After` is read; held while a request runs. */
  readonly clock: Clock
}

/**
 * Posts batches to an endpoint over connections of its own. Bodies are sent as they are, never
 * compressed; redirects are not followed. The deadline runs in real time.
 *
 * Whom to trust is the user's choice, as everywhere in Node: a certificate is checked unless the
 * environment says NODE_TLS_REJECT_UNAUTHORIZED=0.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  return new HttpTransport(options)
}

class HttpTransport implements Transport {
  readonly #pool: Promise<Pool>
  readonly #request: Dispatcher.DispatchOptions
  readonly #timeoutMs: number
  readonly #clock: Clock

  constructor({ endpoint, writeKey, timeoutMs, clock }: HttpTransportOptions) {
    const url = new URL(endpoint)
    // The deadline of each request is exact; the pool's own timers are coarse and would come after.
    this.#pool = openPool(url.origin, {
      headersTimeout: 0,
      bodyTimeout: 0,
      connectTimeout: timeoutMs,
    })
    this.#request = {
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        'content-type': 'application/json',
        'user-agent': `evroute/${evrouteVersion}`,
      },
    }
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  async send({ body }: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> {
    const release = this.#clock.hold()
    try {
      return await this.#post(await this.#pool, body, signal)
    } finally {
      release()
    }
  }

  async close(): Promise<void> {
    const pool = await this.#pool
    await pool.destroy()
  }

  #post(pool: Pool, body: string, signal: AbortSignal): Promise<TransportOutcome> {
    return new Promise((resolve) => {
      const end = (outcome: TransportOutcome): void => {
        deadline.cancel()
        signal.removeEventListener('abort', giveUp)
        resolve(outcome)
      }
      const request = new AnswerHandler(answerLimits, {
        answered: (answer) => end(verdict(answer, this.#clock.nowMs())),
        failed: (error) => end({ kind: 'retry', reason: reasonOf(error) }),
      })
      const giveUp = (): void => request.abort(new Error('nobody waits for it any more'))
      const deadline = systemClock.schedule(this.#timeoutMs, () => {
        request.abort(new DeadlineError(`No answer within ${this.#timeoutMs} ms`))
      })
      signal.addEventListener('abort', giveUp)
      if (signal.aborted) giveUp()
      else pool.dispatch({ ...this.#request, body }, request)
    })
  }
}

/** The endpoint has had its time; the message says so. */
class DeadlineError extends Error {}

function reasonOf(error: Error): string {
  if (error instanceof DeadlineError) return error.message
  // A name with several addresses fails with an error that has a code and no message.
  return `The endpoint cannot be reached: ${messageOf(error) || (systemCode(error) ?? 'unknown')}`
}

/** undici takes longer to load than all else: who sends in another way does without. */
async function openPool(origin: string, options: Pool.Options): Promise<Pool> {
  const { Pool } = await import('undici')
  return new Pool(origin, options)
}
