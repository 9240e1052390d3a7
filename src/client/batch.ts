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

/** Calls that are sent together. Others may join them, up to the limits. */
export class Batch {
  readonly #limits: BatchLimits
  #calls: EncodedCall[]
  #bytes: number

  /** @param calls - the first calls of the batch, whatever their size */
  constructor(limits: BatchLimits, calls: readonly EncodedCall[] = []) {
    this.#limits = limits
    this.#calls = [...calls]
    this.#bytes = bytesOf(calls)
  }

  get calls(): readonly EncodedCall[] {
    return this.#calls
  }

  get isFull(): boolean {
    return this.#calls.length >= this.#limits.callsMax
  }

  /** Adds all calls, or returns false if they would exceed a limit. */
  join(calls: readonly EncodedCall[]): boolean {
    const bytes = this.#bytes + 1 + bytesOf(calls)
    if (this.#calls.length + calls.length > this.#limits.callsMax) return false
    if (bytes > this.#limits.bytesMax) return false
    this.#calls.push(...calls)
    this.#bytes = bytes
    return true
  }

  /** Removes and returns all calls. */
  take(): readonly EncodedCall[] {
    const calls = this.#calls
    this.#calls = []
    this.#bytes = bytesOf([])
    return calls
  }
}

/** Counts the UTF-8 bytes of a batch's calls and of the commas between them: -1 for no calls. */
export function bytesOf(calls: readonly EncodedCall[]): number {
  return calls.reduce((sum, { bytes }) => sum + bytes, calls.length - 1)
}
