import type { CallType } from '../model/index.ts'

/** A checked call as JSON, and its size. */
export interface EncodedCall {
  readonly messageId: string
  readonly type: CallType
  readonly json: string
  /** Length of `json` in UTF-8 bytes. */
  readonly bytes: number
}

/** How large one batch may become. */
export interface BatchLimits {
  readonly callsMax: number
  /** In UTF-8 bytes, including the commas between the calls. */
  readonly bytesMax: number
}

/** Gathers calls into batches, which the caller sends. No call may be longer than `bytesMax`. */
export class Batcher {
  readonly #limits: BatchLimits
  #calls: EncodedCall[] = []
  #bytes = 0

  constructor(limits: BatchLimits) {
    this.#limits = limits
  }

  /** Number of calls gathered for the next batch. */
  get size(): number {
    return this.#calls.length
  }

  /** Adds a call. Returns a batch if the call fills it, or doesn't fit into it and begins the next one. */
  push(call: EncodedCall): readonly EncodedCall[] | undefined {
    const overfull = this.#bytes + comma(this.#calls) + call.bytes > this.#limits.bytesMax
    const before = overfull ? this.flush() : undefined
    this.#bytes += comma(this.#calls) + call.bytes
    this.#calls.push(call)
    return before ?? (this.#calls.length >= this.#limits.callsMax ? this.flush() : undefined)
  }

  /** Removes and returns the gathered calls; undefined if there are none. */
  flush(): readonly EncodedCall[] | undefined {
    if (this.#calls.length === 0) return undefined
    const batch = this.#calls
    this.#calls = []
    this.#bytes = 0
    return batch
  }
}

/** A batch that waits to be sent. Later batches may join it, up to its limits. */
export class WaitingBatch {
  readonly #limits: BatchLimits
  readonly #calls: EncodedCall[]
  #bytes: number

  constructor(calls: readonly EncodedCall[], limits: BatchLimits) {
    this.#limits = limits
    this.#calls = [...calls]
    this.#bytes = bytesOf(calls)
  }

  get calls(): readonly EncodedCall[] {
    return this.#calls
  }

  /** Adds all calls of a later batch, or returns false if they would exceed a limit. */
  join(calls: readonly EncodedCall[]): boolean {
    const bytes = this.#bytes + 1 + bytesOf(calls)
    if (this.#calls.length + calls.length > this.#limits.callsMax) return false
    if (bytes > this.#limits.bytesMax) return false
    this.#calls.push(...calls)
    this.#bytes = bytes
    return true
  }
}

/** Counts the UTF-8 bytes of a batch's calls and of the commas between them. */
export function bytesOf(calls: readonly EncodedCall[]): number {
  return calls.reduce((sum, { bytes }) => sum + bytes, calls.length - 1)
}

function comma(calls: readonly EncodedCall[]): 0 | 1 {
  return calls.length === 0 ? 0 : 1
}
