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
  /** Oldest first. Dropping the first of a set takes the same time whatever its size. */
  readonly #calls = new Set<FailedCall>()
  #bytes = 0
  #limited = true

  constructor(limits: KeptFailuresLimits) {
    this.#limits = limits
  }

  /** Keeps a call, and drops the oldest beyond the limits. */
  add(call: FailedCall): void {
    this.#calls.add(call)
    this.#bytes += Buffer.byteLength(call.json)
    if (!this.#limited) return
    const { callsMax, bytesMax } = this.#limits
    for (const oldest of this.#calls) {
      if (this.#calls.size <= callsMax && this.#bytes <= bytesMax) return
      this.#calls.delete(oldest)
      this.#bytes -= Buffer.byteLength(oldest.json)
    }
  }

  /** Drops nothing from now on. */
  keepAll(): void {
    this.#limited = false
  }

  /** The kept calls, oldest first. */
  list(): readonly FailedCall[] {
    return [...this.#calls]
  }
}
