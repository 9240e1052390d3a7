import { signal } from '@preact/signals'
import type { ListRow } from './api.ts'

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
  #rows: ListRow[] = []
  #held: ListRow[] = []
  #failed: ListRow[] | undefined
  #isPaused = false
  /** Draws crowded batches. */
  #drawing: number | undefined

  /** All rows, or those that failed. */
  rows(onlyFailed: boolean): readonly ListRow[] {
    if (!onlyFailed) return this.#rows
    this.#failed ??= this.#rows.filter(({ failed }) => failed)
    return this.#failed
  }

  /** Adds requests, oldest first; keeps them back while the list is paused. */
  add(rows: readonly ListRow[]): void {
    if (this.#isPaused) {
      this.#held = bounded([...this.#held, ...rows])
      this.heldCount.value = this.#held.length
      return
    }
    const isFirst = this.#rows.length === 0
    for (const row of rows) this.#rows.push(row)
    const excess = this.#rows.length - rowsMax
    if (excess > rowsSlack) {
      this.#rows.splice(0, excess)
      this.missedCount.value += excess
    }
    const isQuiet = rows.length < crowdedMin && this.#drawing === undefined
    if (isFirst || isQuiet) this.#changed()
    else this.#drawing ??= window.setTimeout(() => this.#changed(), crowdedMs)
  }

  /** Puts rows in the place of those with the same numbers. */
  replace(rows: readonly ListRow[]): void {
    for (const row of rows) {
      const place = placeOf(this.#rows, row.seq)
      if (this.#rows[place]?.seq === row.seq) this.#rows[place] = row
    }
    this.#changed()
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

function bounded(rows: ListRow[]): ListRow[] {
  return rows.length > rowsMax ? rows.slice(-rowsMax) : rows
}

/** The place of the first row with this number or a greater one. */
function placeOf(rows: readonly ListRow[], seq: number): number {
  let [from, to] = [0, rows.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((rows[middle]?.seq ?? 0) < seq) from = middle + 1
    else to = middle
  }
  return from
}
