import type { PendingDeliveries } from './pending-deliveries.ts'

/** From where on a memory store lets callers wait who add something. */
export interface AdmissionBounds {
  /** Pending deliveries; 10,000 by default. */
  readonly pendingMax?: number
  /** UTF-8 bytes of the bodies of pending deliveries; 64 MB by default. */
  readonly pendingBytesMax?: number
  /**
   * Deliveries whose first try has not ended, as long as any are given out: others follow soon. While
   * nothing can be sent, only the other bounds count. 1,000 by default.
   */
  readonly untriedMax?: number
}

/** How much is pending. */
type Fullness = Pick<PendingDeliveries, 'size' | 'bodyBytes' | 'untried' | 'leased'>

const pendingMaxDefault = 10_000
const pendingBytesMaxDefault = 64 * 1024 * 1024
/** Many more than are ever ready at once, and few enough that most are garbage while they are young. */
const untriedMaxDefault = 1_000

/** Lets callers wait while so much is pending that memory would not stay flat. */
export class Admission {
  readonly #pending: Fullness
  readonly #pendingMax: number
  readonly #pendingBytesMax: number
  readonly #untriedMax: number
  readonly #waiting: (() => void)[] = []
  #closed = false

  constructor(pending: Fullness, bounds: AdmissionBounds) {
    this.#pending = pending
    this.#pendingMax = bounds.pendingMax ?? pendingMaxDefault
    this.#pendingBytesMax = bounds.pendingBytesMax ?? pendingBytesMaxDefault
    this.#untriedMax = bounds.untriedMax ?? untriedMaxDefault
  }

  /** Adds something as soon as there is room, first for who came first, or once it is closed. */
  enter<Result>(add: () => Result): Promise<Result> {
    return new Promise((resolve) => {
      // What throws in a promise of its own rejects.
      this.#waiting.push(() => resolve(new Promise((resolveAdded) => resolveAdded(add()))))
      this.letIn()
    })
  }

  /** Something came to its end, or is not given out any more: there may be room. */
  letIn(): void {
    while (this.#closed || !this.#isFull()) {
      const enter = this.#waiting.shift()
      if (enter === undefined) return
      enter()
    }
  }

  /** Nobody waits any more. */
  close(): void {
    this.#closed = true
    this.letIn()
  }

  #isFull(): boolean {
    const { size, bodyBytes, untried, leased } = this.#pending
    if (size >= this.#pendingMax || bodyBytes >= this.#pendingBytesMax) return true
    return untried >= this.#untriedMax && leased > 0
  }
}
