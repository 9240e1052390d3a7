import { KeptFailures } from './kept-failures.ts'
import type { CloseReport, FailedCall } from './result.ts'

/** The most JSON of failed calls that is kept before `closing()`. */
const keptBytesMax = 16 * 1024 * 1024

/** Counts what becomes of a client's calls and keeps those that failed. */
export class Books {
  readonly #undelivered: KeptFailures
  #queued = 0
  #delivered = 0
  #failed = 0
  #refused = 0

  /** @param keptMax - the most failed calls that are kept before `closing()` */
  constructor(keptMax: number) {
    this.#undelivered = new KeptFailures({ callsMax: keptMax, bytesMax: keptBytesMax })
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

  /** A queued call failed. */
  failed(call: FailedCall): void {
    this.#failed++
    this.#undelivered.add(call)
  }

  /** From now on every failed call is kept: there are no more than are pending. */
  closing(): void {
    this.#undelivered.keepAll()
  }

  /** The counts so far. */
  report(): CloseReport {
    const undelivered = this.#undelivered.list()
    return Object.freeze({
      queued: this.#queued,
      delivered: this.#delivered,
      failed: this.#failed,
      refused: this.#refused,
      undelivered: Object.freeze(undelivered),
      undeliveredOmitted: this.#failed - undelivered.length,
    })
  }
}
