import { signal } from '@preact/signals'
import type { EventSummary } from '../receiver/index.ts'

/** Requests that the list keeps; the oldest go first. */
export const rowsMax = 100_000
/** Beyond the bound this many go at once, so that few batches pay for it. */
const rowsSlack = 5_000
/** A batch of this many or more does not need to be drawn at once: no person reads so fast. */
const crowdedMin = 100
/** Crowded batches are drawn this often, so that the browser leaves the processor to the receiver. */
const crowdedMs = 300

/**
 * The requests of the list, oldest first. They change in place, because copies of 100,000 would be made with every
 * batch: what shows them reads `version`.
 */
export class EventList {
  /** Changes with the rows. */
  readonly version = signal(0)
  /** Requests that arrived while the list was paused. */
  readonly heldCount = signal(0)
  /** Requests that came before and are not in the list any more. */
  readonly missedCount = signal(0)
  #rows: EventSummary[] = []
  #held: EventSummary[] = []
  #failed: EventSummary[] | undefined
  #isPaused = false
  /** Draws crowded batches. */
  #drawing: number | undefined

  /** All rows, or those that failed. */
  rows(onlyFailed: boolean): readonly EventSummary[] {
    if (!onlyFailed) return this.#rows
    this.#failed ??= this.#rows.filter(isFailed)
    return this.#failed
  }

  /** Adds requests, oldest first; keeps them back while the list is paused. */
  add(summaries: readonly EventSummary[]): void {
    if (this.#isPaused) {
      this.#held = bounded([...this.#held, ...summaries])
      this.heldCount.value = this.#held.length
      return
    }
    const isFirst = this.#rows.length === 0
    for (const summary of summaries) this.#rows.push(summary)
    const excess = this.#rows.length - rowsMax
    if (excess > rowsSlack) {
      this.#rows.splice(0, excess)
      this.missedCount.value += excess
    }
    if (isFirst || summaries.length < crowdedMin) this.#changed()
    else this.#drawing ??= window.setTimeout(() => this.#changed(), crowdedMs)
  }

  /** Keeps new requests back, or shows those that were. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused
    if (isPaused) return
    const held = this.#held
    this.#held = []
    this.heldCount.value = 0
    this.add(held)
  }

  /** Some requests are no longer kept by the receiver. */
  missed(count: number): void {
    this.missedCount.value += count
  }

  /** Empties the list. */
  clear(): void {
    this.#rows = []
    this.#held = []
    this.heldCount.value = 0
    this.missedCount.value = 0
    this.#changed()
  }

  #changed(): void {
    window.clearTimeout(this.#drawing)
    this.#drawing = undefined
    this.#failed = undefined
    this.version.value += 1
  }
}

/** Whether a person would look into it: a bad signature or body, or an answer that is not 2xx. */
export function isFailed({ signature, code, status, forwarded }: EventSummary): boolean {
  const isBadStatus = (given: number | string | null): boolean =>
    typeof given === 'string' || (given !== null && (given < 200 || given > 299))
  const isUnverified = signature === 'invalid' || signature === 'missing'
  return (
    isUnverified ||
    code !== null ||
    status === null ||
    isBadStatus(status) ||
    isBadStatus(forwarded)
  )
}

function bounded(summaries: EventSummary[]): EventSummary[] {
  return summaries.length > rowsMax ? summaries.slice(-rowsMax) : summaries
}
