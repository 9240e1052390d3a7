import type { CallType } from '../model/index.ts'

/** A serialised call. It is serialised once. */
export interface EncodedCall {
  /** Identifies the call. */
  readonly messageId: string
  /** Its type. */
  readonly type: CallType
  /** The call as JSON, exactly as it is sent. */
  readonly json: string
  /** The length of `json` in UTF-8 bytes. */
  readonly bytes: number
}

/** When a batch is full. */
export interface BatchLimits {
  /** The most calls in a batch. */
  readonly callsMax: number
  /** The most UTF-8 bytes of a batch's calls with the commas between them. */
  readonly bytesMax: number
}

/**
 * Gathers calls into batches. It knows neither time nor transport: its owner sends the batches that it
 * returns. No call may be longer than `bytesMax`.
 */
export class Batcher {
  readonly #limits: BatchLimits
  #calls: EncodedCall[] = []
  #bytes = 0

  constructor(limits: BatchLimits) {
    this.#limits = limits
  }

  /** Calls that wait for their batch to be full. */
  get size(): number {
    return this.#calls.length
  }

  /**
   * Adds a call.
   *
   * @returns the batch that is full now: with this call when it reached `callsMax`, without it when
   * the call would have taken it over `bytesMax`
   */
  push(call: EncodedCall): readonly EncodedCall[] | undefined {
    const overfull = this.#bytes + comma(this.#calls) + call.bytes > this.#limits.bytesMax
    const before = overfull ? this.flush() : undefined
    this.#bytes += comma(this.#calls) + call.bytes
    this.#calls.push(call)
    return before ?? (this.#calls.length >= this.#limits.callsMax ? this.flush() : undefined)
  }

  /** Takes out the gathered calls, full or not; undefined if there are none. */
  flush(): readonly EncodedCall[] | undefined {
    if (this.#calls.length === 0) return undefined
    const batch = this.#calls
    this.#calls = []
    this.#bytes = 0
    return batch
  }
}

/** A batch that waits for its turn. Later batches join it, up to its limits. */
export class WaitingBatch {
  readonly #limits: BatchLimits
  readonly #calls: EncodedCall[]
  #bytes: number

  constructor(calls: readonly EncodedCall[], limits: BatchLimits) {
    this.#limits = limits
    this.#calls = [...calls]
    this.#bytes = bytesOf(calls)
  }

  /** Its calls, in the order in which they came. */
  get calls(): readonly EncodedCall[] {
    return this.#calls
  }

  /**
   * Takes in another batch, as a whole.
   *
   * @returns false when that would take it over a limit: nothing has changed then
   */
  join(calls: readonly EncodedCall[]): boolean {
    const bytes = this.#bytes + 1 + bytesOf(calls)
    if (this.#calls.length + calls.length > this.#limits.callsMax) return false
    if (bytes > this.#limits.bytesMax) return false
    this.#calls.push(...calls)
    this.#bytes = bytes
    return true
  }
}

/** The UTF-8 bytes of a batch's calls and the commas between them. */
export function bytesOf(calls: readonly EncodedCall[]): number {
  return calls.reduce((sum, { bytes }) => sum + bytes, calls.length - 1)
}

function comma(calls: readonly EncodedCall[]): 0 | 1 {
  return calls.length === 0 ? 0 : 1
}
