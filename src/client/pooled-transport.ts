import { Pool, type Dispatcher } from 'undici'
import { AnswerHandler, type AnswerLimits } from '../http/index.ts'
import { evrouteVersion, messageOf, systemCode } from '../model/index.ts'
import { systemClock, type Clock } from '../runtime/index.ts'
import type { HttpTransportOptions } from './http-transport.ts'
import type { EncodedBatch, Transport, TransportOutcome } from './transport.ts'
import { verdict } from './verdict.ts'

/** How much of an answer is read: the list of a whole batch's rejected calls fits. */
const answerLimits: AnswerLimits = { readBytesMax: 1024 * 1024, keptBytesMax: 1024 * 1024 }

/** Posts batches over connections of its own, as {@link HttpTransportOptions} say. */
export class PooledTransport implements Transport {
  readonly #pool: Pool
  readonly #request: Dispatcher.DispatchOptions
  readonly #timeoutMs: number
  readonly #clock: Clock
  /** What each signal ends. */
  readonly #requestsUntil = new WeakMap<AbortSignal, Set<AnswerHandler>>()

  constructor({ endpoint, writeKey, timeoutMs, clock }: HttpTransportOptions) {
    const url = new URL(endpoint)
    // The deadline of each request is exact; the pool's own timers are coarse and would come after.
    this.#pool = new Pool(url.origin, {
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

  /** Posts one batch; resolves with what became of it. */
  send({ body }: EncodedBatch, signal: AbortSignal): Promise<TransportOutcome> {
    return new Promise((resolve) => {
      const requests = this.#until(signal)
      const end = (outcome: TransportOutcome): void => {
        deadline.cancel()
        requests.delete(request)
        resolve(outcome)
      }
      const request = new AnswerHandler(answerLimits, {
        answered: (answer) => end(verdict(answer, this.#clock.nowMs())),
        failed: (error) => end({ kind: 'retry', reason: reasonOf(error) }),
      })
      const deadline = systemClock.schedule(this.#timeoutMs, () => {
        request.abort(new DeadlineError(`No answer within ${this.#timeoutMs} ms`))
      })
      requests.add(request)
      if (signal.aborted) giveUp(request)
      else this.#pool.dispatch({ ...this.#request, body }, request)
    })
  }

  /** Lets go of the connections. */
  close(): Promise<void> {
    return this.#pool.destroy()
  }

  /** A signal is listened to once for all that it serves: each time would cost as much as a timer. */
  #until(signal: AbortSignal): Set<AnswerHandler> {
    const known = this.#requestsUntil.get(signal)
    if (known !== undefined) return known
    const requests = new Set<AnswerHandler>()
    signal.addEventListener('abort', () => {
      for (const request of requests) giveUp(request)
    })
    this.#requestsUntil.set(signal, requests)
    return requests
  }
}

function giveUp(request: AnswerHandler): void {
  request.abort(new Error('nobody waits for it any more'))
}

/** The endpoint has had its time; the message says so. */
class DeadlineError extends Error {}

function reasonOf(error: Error): string {
  if (error instanceof DeadlineError) return error.message
  // A name with several addresses fails with an error that has a code and no message.
  return `The endpoint cannot be reached: ${messageOf(error) || (systemCode(error) ?? 'unknown')}`
}
