/** An estimate below this counts as 0. Claims lower estimates in proportion, so few of them reach 0 exactly. */
const fewest = 0.5

/**
 * Estimates, for each source, how many of its deliveries to a destination wait in the store. Knows only deliveries that
 * this process has added. A claim takes the oldest deliveries, whatever their source. The estimate assumes that a claim
 * takes the same share of every source's deliveries.
 */
export class SourceBacklog {
  readonly #waiting = new Map<string, number>()
  #total = 0

  /** Notes that new deliveries from a source wait in the store. */
  add(sourceId: string, deliveries: number): void {
    if (deliveries <= 0) return
    this.#total += deliveries
    this.#waiting.set(sourceId, (this.#waiting.get(sourceId) ?? 0) + deliveries)
  }

  /** Notes that a claim took deliveries, and lowers every source's estimate in proportion. */
  claimed(deliveries: number): void {
    if (this.#total === 0) return
    const kept = Math.max(1 - deliveries / this.#total, 0)
    this.#total = 0
    for (const [sourceId, waiting] of this.#waiting) {
      const remaining = waiting * kept
      if (remaining < fewest) this.#waiting.delete(sourceId)
      else this.#waiting.set(sourceId, remaining)
      this.#total += remaining < fewest ? 0 : remaining
    }
  }

  clear(): void {
    this.#total = 0
    this.#waiting.clear()
  }

  /** Whether a source has less than an equal share of the waiting deliveries; false if none are known to be waiting. */
  isQuiet(sourceId: string): boolean {
    return (this.#waiting.get(sourceId) ?? 0) * this.#waiting.size < this.#total
  }
}
