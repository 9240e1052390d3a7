import { signal } from '@preact/signals'
import type { ListRow } from './api.ts'

/** Requests that the list keeps; it drops the oldest first. */
export const rowsMax = 100_000
/** The list exceeds its bound by this much before it drops rows, because each splice moves all others. */
const rowsSlack = 5_000
/** A batch of this size or more is part of a crowd: no person reads that fast. */
const crowdedMin = 100
/** Crowds are drawn this often. Every 300 ms took three times as much of the processor from the receiver. */
const crowdedMs = 1_000
/** The crowd is over when fewer requests arrive in that time. */
const crowdedPauseMin = 500

/**
 * The requests of the list, oldest first. Rows change in place, because a batch must not copy 100,000
 * rows. Components subscribe to `version`.
 */
export class EventList {
  /** Grows when rows change. */
  readonly version = signal(0)
  /** Requests that arrived while the list was paused. */
  readonly heldCount = signal(0)
  readonly failedCount = signal(0)
  /** Earlier requests that are no longer in the list. */
  readonly missedCount = signal(0)
  /** Of those, requests that were in the list as failed. */
  readonly missedFailedCount = signal(0)
  #rows: ListRow[] = []
  #held: ListRow[] = []
  /** The failed rows; undefined until they are collected again. */
  #failed: ListRow[] | undefined
  /** While the list is paused, the last request that it shows. */
  #pausedAt = Infinity
  /** Timer of the pause after a crowd was drawn. */
  #drawingPause: number | undefined
  /** Rows that wait for the next drawing. */
  #waitingCount = 0

  /** All rows, or only the failed ones. */
  rows(onlyFailed: boolean): readonly ListRow[] {
    if (!onlyFailed) return this.#rows
    this.#failed ??= this.#rows.filter(({ failed }) => failed)
    return this.#failed
  }

  /** Adds requests, oldest first. While the list is paused, holds new ones back. */
  add(rows: readonly ListRow[]): void {
    if (this.#pausedAt !== Infinity) {
      this.#held = bounded([...this.#held, ...rows.filter(({ seq }) => seq > this.#pausedAt)])
      this.heldCount.value = this.#held.length
      rows = rows.filter(({ seq }) => seq <= this.#pausedAt)
      if (rows.length === 0) return
    }
    const isFirst = this.#rows.length === 0
    for (const row of rows) {
      this.#rows.push(row)
      if (row.failed) this.#failed?.push(row)
    }
    const excess = this.#rows.length - rowsMax
    if (excess > rowsSlack) {
      this.#rows.splice(0, excess)
      this.#failed = undefined
      this.missedCount.value += excess
    }
    this.#waitingCount += rows.length
    if (isFirst) this.#changed()
    if (isFirst || this.#drawingPause !== undefined) return
    this.#changed()
    if (rows.length >= crowdedMin) this.#pauseDrawing()
  }

  /** Replaces rows that have the same numbers. */
  replace(rows: readonly ListRow[]): void {
    for (const row of rows) {
      const place = placeOf(this.#rows, row.seq)
      if (this.#rows[place]?.seq === row.seq) this.#rows[place] = row
    }
    this.#failed = undefined
    this.#changed()
  }

  /** Removes the requests that the receiver dropped before their summaries were read: those before a number. */
  forget(keptFrom: number): void {
    const isKept = (row: ListRow): boolean => row.summary !== undefined || row.seq >= keptFrom
    const gone = this.#rows.filter((row) => !isKept(row))
    this.#rows = this.#rows.filter(isKept)
    this.#failed = undefined
    this.missedFailedCount.value += gone.filter(({ failed }) => failed).length
    this.missed(gone.length)
    this.#changed()
  }

  /** Holds requests after this one back. */
  pause(lastSeq: number): void {
    this.#pausedAt = lastSeq
  }

  /** Shows the requests that were held back, and new ones. */
  resume(): void {
    this.#pausedAt = Infinity
    const held = this.#held
    this.#held = []
    this.heldCount.value = 0
    this.add(held)
  }

  /** Counts requests that the receiver dropped. */
  missed(count: number): void {
    this.missedCount.value += count
  }

  clear(): void {
    this.#rows = []
    this.#failed = undefined
    this.#held = []
    this.heldCount.value = 0
    this.missedCount.value = 0
    this.missedFailedCount.value = 0
    this.#changed()
  }

  #pauseDrawing(): void {
    this.#drawingPause = window.setTimeout(() => {
      this.#drawingPause = undefined
      const isCrowded = this.#waitingCount >= crowdedPauseMin
      this.#changed()
      if (isCrowded) this.#pauseDrawing()
    }, crowdedMs)
  }

  #changed(): void {
    this.#waitingCount = 0
    this.failedCount.value = this.rows(true).length
    this.version.value += 1
  }
}

function bounded(rows: ListRow[]): ListRow[] {
  return rows.length > rowsMax ? rows.slice(-rowsMax) : rows
}

/** Index of the first row with this number or a greater one. */
function placeOf(rows: readonly ListRow[], seq: number): number {
  let [from, to] = [0, rows.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((rows[middle]?.seq ?? 0) < seq) from = middle + 1
    else to = middle
  }
  return from
}
