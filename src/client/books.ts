import type { CloseReport, FailedCall } from './result.ts'

/** Counts what becomes of a client's calls and keeps those that failed. */
export class Books {
  readonly #keptMax: number
  readonly #undelivered: FailedCall[] = []
  #queued = 0
  #delivered = 0
  #failed = 0
  #refused = 0
  #closing = false

  /** @param keptMax - failed calls that are kept before `closing()` at the most */
  constructor(keptMax: number) {
    this.#keptMax = keptMax
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
    if (this.#closing || this.#undelivered.length < this.#keptMax) this.#undelivered.push(call)
  }

  /** From now on every failed call is kept: there are no more than are pending. */
  closing(): void {
    this.#closing = true
  }

  /** The account, as it stands. */
  report(): CloseReport {
    return Object.freeze({
      queued: this.#queued,
      delivered: this.#delivered,
      failed: this.#failed,
      refused: this.#refused,
      undelivered: Object.freeze([...this.#undelivered]),
      undeliveredOmitted: this.#failed - this.#undelivered.length,
    })
  }
}
