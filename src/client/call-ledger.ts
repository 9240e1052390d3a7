import type { CloseReport, FailedCall } from './result.ts'

/** How many of the failed calls are kept until `closing()`. */
export interface KeptLimits {
  /** The most calls. */
  readonly callsMax: number
  /** The most UTF-8 bytes of their JSON; 16 MB by default. */
  readonly bytesMax?: number
}

/** Counts the outcomes of a client's calls, and keeps the newest of those that failed. */
export class CallLedger {
  readonly #limits: Required<KeptLimits>
  /** Oldest first. Dropping the first of a set takes the same time whatever its size. */
  readonly #undelivered = new Set<FailedCall>()
  #undeliveredBytes = 0
  #isClosing = false
  #queued = 0
  #delivered = 0
  #failed = 0
  #refused = 0

  constructor(limits: KeptLimits) {
    this.#limits = { bytesMax: 16 * 1024 * 1024, ...limits }
  }

  /** Calls queued or in flight. */
  get pending(): number {
    return this.#queued - this.#delivered - this.#failed
  }

  /** A call was refused. */
  refused(): void {
    this.#refused++
  }

  /** A call was queued. */
  queued(): void {
    this.#queued++
  }

  /** A queued call was delivered. */
  delivered(): void {
    this.#delivered++
  }

  /** A queued call failed. It is kept, and the oldest beyond the limits are dropped. */
  failed(call: FailedCall): void {
    this.#failed++
    this.#undelivered.add(call)
    this.#undeliveredBytes += Buffer.byteLength(call.json)
    if (this.#isClosing) return
    const { callsMax, bytesMax } = this.#limits
    for (const oldest of this.#undelivered) {
      if (this.#undelivered.size <= callsMax && this.#undeliveredBytes <= bytesMax) return
      this.#undelivered.delete(oldest)
      this.#undeliveredBytes -= Buffer.byteLength(oldest.json)
    }
  }

  /** From now on every failed call is kept: there are no more than are pending. */
  closing(): void {
    this.#isClosing = true
  }

  /** The counts so far. */
  report(): CloseReport {
    return Object.freeze({
      queued: this.#queued,
      delivered: this.#delivered,
      failed: this.#failed,
      refused: this.#refused,
      undelivered: Object.freeze([...this.#undelivered]),
      undeliveredOmitted: this.#failed - this.#undelivered.size,
    })
  }
}
