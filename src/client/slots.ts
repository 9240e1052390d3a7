/** A fixed number of places; who finds none waits in line. */
export class Slots {
  #free: number
  // Two stacks make a line whose ends both move in constant time, however long it is.
  #arriving: (() => void)[] = []
  #leaving: (() => void)[] = []

  /** @param count - places, at least 1 */
  constructor(count: number) {
    this.#free = count
  }

  /** Whether somebody who comes now has to wait. */
  get areTaken(): boolean {
    return this.#free === 0
  }

  /** Resolves when a place is the caller's, in the order of the calls. */
  acquire(): Promise<void> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#arriving.push(resolve))
  }

  /** Hands a place on to the first in line, or frees it. */
  release(): void {
    const next = this.#next()
    if (next === undefined) this.#free++
    else next()
  }

  #next(): (() => void) | undefined {
    if (this.#leaving.length === 0) {
      this.#leaving = this.#arriving.reverse()
      this.#arriving = []
    }
    return this.#leaving.pop()
  }
}
