import { messageOf } from '../model/index.ts'
import { sleep, type Runtime } from '../runtime/index.ts'
import { bytesOf, WaitingBatch, type BatchLimits, type EncodedCall } from './batch.ts'
import { encodeEnvelope, envelopeBytes } from './envelope.ts'
import { Exchanges } from './exchanges.ts'
import { Line } from './line.ts'
import type { BatchRetry } from './result.ts'
import { attemptsMax, retryDelayMs } from './retry-policy.ts'
import type { RejectedCall, Transport, TransportOutcome } from './transport.ts'

/** Maximum number of batches in flight at the same time, including those that wait for a retry. */
export const batchesInFlightMax = 4

/** Why a call was not delivered. */
export interface Failure {
  /** The stable name of the reason. */
  readonly code: string
  /** The reason in words. */
  readonly message: string
  /** The number of requests with the call. */
  readonly attempts: number
}

/** Observes the outcome of each call: exactly one of `delivered` and `failed`. */
export interface SenderObserver {
  /** The call was accepted. */
  delivered(call: EncodedCall): void
  /** The call will not be delivered. */
  failed(call: EncodedCall, failure: Failure): void
  /** A batch will be retried after a wait. */
  retrying(retry: BatchRetry): void
}

/** Options of a {@link Sender}. */
export interface SenderOptions {
  /** The source's write key, which is part of every body. */
  readonly writeKey: string
  readonly transport: Transport
  /** The limits of a waiting batch, which later batches may join. */
  readonly waitingLimits: BatchLimits
  /** Clock, randomness, ids and log. */
  readonly runtime: Runtime
  /** Observes the outcomes. Its methods must not throw. */
  readonly observer: SenderObserver
}

type FinalOutcome = Exclude<TransportOutcome, { kind: 'retry' }>

/** The outcome of a batch, and the number of its attempts. */
interface Ending {
  readonly outcome: FinalOutcome
  readonly attempts: number
}

/**
 * Delivers batches: a few at a time, with retries, and in halves if they are too large. Batches may join while they
 * wait for their first attempt.
 */
export class Sender {
  readonly #options: SenderOptions
  readonly #exchanges: Exchanges
  readonly #envelopeBytes: number
  readonly #line = new Line(batchesInFlightMax)
  readonly #underWay = new Set<Promise<void>>()
  readonly #lifetime = new AbortController()

  constructor(options: SenderOptions) {
    this.#options = options
    this.#exchanges = new Exchanges(options.transport)
    this.#envelopeBytes = envelopeBytes(options.writeKey)
  }

  /** Delivers a batch in the background. */
  send(calls: readonly EncodedCall[]): void {
    if (this.#line.join(calls)) return
    const delivery = this.#deliverInTurn(new WaitingBatch(calls, this.#options.waitingLimits))
    this.#underWay.add(delivery)
    void delivery.then(() => this.#underWay.delete(delivery))
  }

  /** Resolves when every batch sent so far has an outcome. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** Gives up: every call without an outcome fails with `close_timeout`. */
  abort(): void {
    this.#lifetime.abort()
    this.#exchanges.abort()
  }

  async #deliverInTurn(batch: WaitingBatch): Promise<void> {
    await this.#line.turnOf(batch)
    await this.#deliver(batch.calls, 0)
    this.#line.end()
  }

  /** @param attemptsBefore - the number of requests that contained the calls before their batch was halved */
  async #deliver(calls: readonly EncodedCall[], attemptsBefore: number): Promise<void> {
    const { outcome, ...ending } = await this.#tryUntilFinal(calls)
    const attempts = attemptsBefore + ending.attempts
    switch (outcome.kind) {
      case 'accepted':
        this.#settle(calls, outcome.rejected, attempts)
        return
      case 'refused':
        this.#fail(calls, { code: outcome.code, message: outcome.message, attempts })
        return
      case 'too_large':
        if (calls.length > 1) await this.#deliverInHalves(calls, attempts)
        else this.#fail(calls, { code: 'event_too_large', message: outcome.reason, attempts })
        return
    }
  }

  async #deliverInHalves(calls: readonly EncodedCall[], attempts: number): Promise<void> {
    const middle = Math.ceil(calls.length / 2)
    this.#options.runtime.log.debug('halving a batch', { calls: calls.length })
    await this.#deliver(calls.slice(0, middle), attempts)
    await this.#deliver(calls.slice(middle), attempts)
  }

  async #tryUntilFinal(calls: readonly EncodedCall[]): Promise<Ending> {
    const { observer, runtime } = this.#options
    const { signal } = this.#lifetime
    if (signal.aborted) return { outcome: abandoned('it had not been sent yet'), attempts: 0 }
    let reason = 'no answer had arrived yet'
    for (let attempt = 1; ; attempt++) {
      const end = (outcome: FinalOutcome): Ending => ({ outcome, attempts: attempt })
      const outcome = await this.#try(calls)
      if (outcome === undefined) return end(abandoned(reason))
      if (outcome.kind !== 'retry') return end(outcome)
      reason = outcome.reason
      if (attempt === attemptsMax) return end(exhausted(reason))
      const delayMs = retryDelayMs({ attempt, afterMs: outcome.afterMs }, runtime.random())
      observer.retrying({ callCount: calls.length, attempt, delayMs, reason })
      if (!(await sleep(runtime.clock, delayMs, signal))) return end(abandoned(reason))
    }
  }

  /** Tries once, with a new `sentAt`. Undefined if `abort()` ended the attempt. */
  async #try(calls: readonly EncodedCall[]): Promise<TransportOutcome | undefined> {
    const { runtime, writeKey } = this.#options
    const body = encodeEnvelope({ calls, sentAtMs: runtime.clock.nowMs(), writeKey })
    const bytes = this.#envelopeBytes + bytesOf(calls)
    runtime.log.debug('sending a batch', { calls: calls.length, bytes })
    try {
      return await this.#exchanges.send({ body, callCount: calls.length })
    } catch (error) {
      return { kind: 'refused', code: 'internal', message: messageOf(error) }
    }
  }

  #settle(
    calls: readonly EncodedCall[],
    rejected: readonly RejectedCall[],
    attempts: number,
  ): void {
    const rejections = new Map<number, RejectedCall>()
    for (const rejection of rejected) {
      const place = placeOf(rejection, calls)
      if (place !== undefined) rejections.set(place, rejection)
      else {
        const { code } = rejection
        this.#options.runtime.log.warn('a rejection names no call of its batch', { code })
      }
    }
    if (rejections.size === 0) {
      for (const call of calls) this.#options.observer.delivered(call)
      return
    }
    calls.forEach((call, index) => {
      const rejection = rejections.get(index)
      if (rejection === undefined) this.#options.observer.delivered(call)
      else {
        const { code, message } = rejection
        this.#options.observer.failed(call, { code, message, attempts })
      }
    })
  }

  #fail(calls: readonly EncodedCall[], failure: Failure): void {
    for (const call of calls) this.#options.observer.failed(call, failure)
  }
}

/** Returns the position of a rejected call in its batch; undefined if it is not in the batch. */
function placeOf(
  { index = -1, messageId }: RejectedCall,
  calls: readonly EncodedCall[],
): number | undefined {
  if (calls[index] !== undefined) return index
  const place = calls.findIndex((call) => call.messageId === messageId)
  return place === -1 ? undefined : place
}

function exhausted(reason: string): FinalOutcome {
  const message = `Gave up after ${attemptsMax} attempts; the last one failed: ${reason}`
  return { kind: 'refused', code: 'retries_exhausted', message }
}

function abandoned(reason: string): FinalOutcome {
  const message = `The client was closed before this call was delivered: ${reason}`
  return { kind: 'refused', code: 'close_timeout', message }
}
