import type { FailedCall } from './result.ts'

/** How much is kept. */
export interface KeptFailuresLimits {
  /** The most calls. */
  readonly callsMax: number
  /** The most UTF-8 bytes of their JSON. */
  readonly bytesMax: number
}

/** Keeps the newest of the calls that failed, as many as its limits allow. */
export class KeptFailures {
  readonly #limits: KeptFailuresLimits
  /** A queue: calls before `#first` were let go. */
  #calls: FailedCall[] = []
  #first = 0
  #bytes = 0
  #limited = true

  constructor(limits: KeptFailuresLimits) {
    this.#limits = limits
  }

  /** Keeps a call, and lets the oldest go where the limits ask for it. */
  add(call: FailedCall): void {
    this.#calls.push(call)
    this.#bytes += Buffer.byteLength(call.json)
    while (this.#limited && this.#isOverLimit()) this.#letOldestGo()
  }

  /** From now on nothing is let go. */
  keepAll(): void {
    this.#limited = false
  }

  /** The calls that are kept, oldest first. */
  list(): readonly FailedCall[] {
    return this.#calls.slice(this.#first)
  }

  #isOverLimit(): boolean {
    const count = this.#calls.length - this.#first
    return count > this.#limits.callsMax || this.#bytes > this.#limits.bytesMax
  }

  #letOldestGo(): void {
    this.#bytes -= Buffer.byteLength(this.#calls[this.#first]?.json ?? '')
    this.#first++
    // The queue moves up only once half of it is empty, so that letting go costs nothing on average.
    if (this.#first * 2 < this.#calls.length) return
    this.#calls = this.#calls.slice(this.#first)
    this.#first = 0
  }
}
