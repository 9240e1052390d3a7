import type { CloseReport, FailedCall } from './result.ts'

/** How many failed calls are kept until `closing()` is called. */
interface KeptLimits {
  readonly callsMax: number
  /** Size of the calls as JSON, in UTF-8 bytes; 16 MB by default. */
  readonly bytesMax?: number
}

/** Counts the outcomes of a client's calls, and keeps the newest failed calls. */
export class CallLedger {
  readonly #limits: Required<KeptLimits>
  /** Oldest first. A set drops its first element in constant time. */
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

  /** Number of calls that are queued or in flight. */
  get pending(): number {
    return this.#queued - this.#delivered - this.#failed
  }

  refused(): void {
    this.#refused++
  }

  queued(): void {
    this.#queued++
  }

  delivered(): void {
    this.#delivered++
  }

  /** Counts and keeps a failed call. Before `closing()`, drops the oldest calls until the kept ones fit the limits. */
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

  /** From now on, keeps every failed call. Only calls that are pending now can still fail. */
  closing(): void {
    this.#isClosing = true
  }

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
