import { isJsonObject, messageOf } from '../model/index.ts'
import { sleep, stoppable, type LogFields, type Runtime } from '../runtime/index.ts'
import { Batch, bytesOf, type BatchLimits, type EncodedCall } from './batch.ts'
import { encodeEnvelope, envelopeBytes } from './envelope.ts'
import type { BatchRetry, FailedCall } from './result.ts'
import { attemptsMax, retryDelayMs } from './retry-policy.ts'
import type { RejectedCall, Transport, TransportOutcome } from './transport.ts'

/** Maximum number of batches in flight at the same time, including those that wait for a retry. */
const batchesInFlightMax = 4

/** Why a call was not delivered. */
export type Failure = Pick<FailedCall, 'code' | 'message' | 'attempts'>

interface SenderObserver {
  delivered(call: EncodedCall): void
  failed(call: EncodedCall, failure: Failure): void
  retrying(retry: BatchRetry): void
}

/** What a {@link Sender} sends with, and the observer that it tells about every result and retry. */
export interface SenderOptions {
  readonly writeKey: string
  readonly transport: Transport
  /** The limits of a waiting batch, which later batches may join. */
  readonly waitingLimits: BatchLimits
  readonly runtime: Runtime
  readonly observer: SenderObserver
}

type FinalOutcome = Exclude<TransportOutcome, { kind: 'retry' }>

interface Ending {
  readonly outcome: FinalOutcome
  readonly attempts: number
}

/** Delivers a few batches at a time, with retries. Splits batches that are too large into halves. */
export class Sender {
  readonly #options: SenderOptions
  readonly #envelopeBytes: number
  /** The batches that wait for their turn, in order. */
  readonly #waiting: { readonly batch: Batch; readonly start: () => void }[] = []
  #inFlight = 0
  readonly #underWay = new Set<Promise<void>>()
  readonly #lifetime = new AbortController()
  readonly #warnings = new Set<string>()

  constructor(options: SenderOptions) {
    this.#options = options
    this.#envelopeBytes = envelopeBytes(options.writeKey)
  }

  /** Delivers a batch in the background. If batches are waiting, adds the calls to the last one if they fit. */
  send(calls: readonly EncodedCall[]): void {
    if (this.#waiting.at(-1)?.batch.join(calls) === true) return
    const delivery = this.#deliverInTurn(new Batch(this.#options.waitingLimits, calls))
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
  }

  async #deliverInTurn(batch: Batch): Promise<void> {
    await new Promise<void>((start) => {
      this.#waiting.push({ batch, start })
      this.#startNext()
    })
    await this.#deliver(batch.calls, 0)
    this.#inFlight--
    this.#startNext()
  }

  #startNext(): void {
    if (this.#inFlight === batchesInFlightMax) return
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#inFlight++
    next.start()
  }

  /** @param attemptsBefore - number of earlier requests with these calls, each as part of a larger batch */
  async #deliver(calls: readonly EncodedCall[], attemptsBefore: number): Promise<void> {
    const { outcome, ...ending } = await this.#tryUntilFinal(calls)
    const attempts = attemptsBefore + ending.attempts
    switch (outcome.kind) {
      case 'accepted':
        // A mistyped URL often leads to a web page, which answers 200 to everything.
        if (outcome.isWebPage === true) {
          this.#warnOnce('the endpoint answers with a web page; check its URL')
        }
        this.#settle(calls, outcome.rejected ?? [], attempts)
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

  /** Warns once of each fault of the endpoint, because the next answers probably have it too. */
  #warnOnce(message: string, fields?: LogFields): void {
    if (this.#warnings.has(message)) return
    this.#warnings.add(message)
    this.#options.runtime.log.warn(message, fields)
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

  /** Tries once, with a new `sentAt`. Returns undefined if `abort()` ended the attempt. */
  async #try(calls: readonly EncodedCall[]): Promise<TransportOutcome | undefined> {
    const { runtime, transport, writeKey } = this.#options
    const { signal } = this.#lifetime
    const body = encodeEnvelope({ calls, sentAtMs: runtime.clock.nowMs(), writeKey })
    const bytes = this.#envelopeBytes + bytesOf(calls)
    runtime.log.debug('sending a batch', { calls: calls.length, bytes })
    try {
      const outcome = await stoppable(
        transport.send({ body, callCount: calls.length }, signal),
        signal,
      )
      const isAborted = outcome === undefined && signal.aborted
      if (isAborted || isOutcome(outcome)) return outcome
      throw new TypeError('The transport did not return an outcome')
    } catch (error) {
      // A transport may reject because it was aborted, before `stoppable` notices.
      if (signal.aborted) return undefined
      return { kind: 'refused', code: 'internal', message: messageOf(error) }
    }
  }

  #settle(
    calls: readonly EncodedCall[],
    rejected: readonly RejectedCall[],
    attempts: number,
  ): void {
    const rejections = new Map<number, RejectedCall>()
    const { observer } = this.#options
    for (const rejection of rejected) {
      const position = positionOf(rejection, calls)
      const { code } = rejection
      if (position === undefined)
        this.#warnOnce('the endpoint rejected a call that is not in the batch', { code })
      else rejections.set(position, rejection)
    }
    calls.forEach((call, index) => {
      const rejection = rejections.get(index)
      if (rejection === undefined) observer.delivered(call)
      else observer.failed(call, { code: rejection.code, message: rejection.message, attempts })
    })
  }

  #fail(calls: readonly EncodedCall[], failure: Failure): void {
    for (const call of calls) this.#options.observer.failed(call, failure)
  }
}

/** Returns the position of a rejected call in its batch; undefined if it is not in the batch. */
function positionOf(
  { index = -1, messageId }: RejectedCall,
  calls: readonly EncodedCall[],
): number | undefined {
  if (calls[index] !== undefined) return index
  const position = calls.findIndex((call) => call.messageId === messageId)
  return position === -1 ? undefined : position
}

/** Checks what the sender relies on. A transport that is written in JavaScript can return anything. */
function isOutcome(value: Partial<Record<string, unknown>> | null | undefined): boolean {
  switch (value?.['kind']) {
    case 'accepted': {
      const rejected = value['rejected'] ?? []
      return Array.isArray(rejected) && rejected.every(isJsonObject)
    }
    case 'retry':
      return typeof value['reason'] === 'string'
    default:
      return value?.['kind'] === 'too_large' || value?.['kind'] === 'refused'
  }
}

function exhausted(reason: string): FinalOutcome {
  const message = `Gave up after ${attemptsMax} attempts; the last one failed: ${reason}`
  return { kind: 'refused', code: 'retries_exhausted', message }
}

function abandoned(reason: string): FinalOutcome {
  const message = `The client was closed before this call was delivered: ${reason}`
  return { kind: 'refused', code: 'close_timeout', message }
}
