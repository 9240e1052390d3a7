/** Lower bound of a source's estimate, below which it counts as zero. Claims leave fractions. */
const fewest = 0.5

/**
 * Estimates how many waiting deliveries of one destination come from each source. the waiting deliveries of one
 * destination come from. It counts the deliveries that this process left in the store. A claim takes from every
 * source in proportion, because the store is in order of time.
 */
export class SourceBacklog {
  readonly #waiting = new Map<string, number>()
  #total = 0

  /** Notes that deliveries of a source wait in the store. */
  add(sourceId: string, deliveries: number): void {
    if (deliveries <= 0) return
    this.#total += deliveries
    this.#waiting.set(sourceId, (this.#waiting.get(sourceId) ?? 0) + deliveries)
  }

  /** Notes that a claim took deliveries. */
  leave(deliveries: number): void {
    if (this.#total === 0) return
    const kept = Math.max(1 - deliveries / this.#total, 0)
    this.#total = 0
    for (const [sourceId, waiting] of this.#waiting) {
      const left = waiting * kept
      if (left < fewest) this.#waiting.delete(sourceId)
      else this.#waiting.set(sourceId, left)
      this.#total += left < fewest ? 0 : left
    }
  }

  /** Notes that nothing waits. */
  clear(): void {
    this.#total = 0
    this.#waiting.clear()
  }

  /**
   * Whether a source has less than an equal share of the waiting deliveries. False if none is known to wait.
   */
  isQuiet(sourceId: string): boolean {
    return (this.#waiting.get(sourceId) ?? 0) * this.#waiting.size < this.#total
  }
}
