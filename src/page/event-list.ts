import { signal } from '@preact/signals'
import type { ListRow } from './api.ts'

/** Maximum requests in the list. The oldest are dropped. */
const rowsMax = 100_000
/** Excess rows are dropped this many at a time, because each splice moves all other rows. */
const rowsSlack = 5_000
/** A batch of this many rows counts as a burst, because no person reads so fast. */
const burstMin = 100
/** Drawing interval in a burst. An interval of 300 ms took three times as much CPU time from the receiver. */
const burstIntervalMs = 1_000
/** The burst is over when fewer requests than this arrive in an interval. */
const burstRowsMin = 500
/** New rows are drawn after the pointer has rested this long. */
const aimMs = 1_000
/** Once this many new rows wait, they are drawn even if the pointer never rests. */
const waitingMax = 5_000

/** The requests in the list, oldest first. Rows change in place, because copying 100,000 rows would take too long. */
export class EventList {
  /** Increases when rows change. */
  readonly version = signal(0)
  /** The number of new requests that are not shown yet, because the list is paused or held. */
  readonly heldCount = signal(0)
  readonly failedCount = signal(0)
  /** The number of earlier requests that are no longer in the list. */
  readonly missedCount = signal(0)
  /** How many of the missed requests the list showed as failed. */
  readonly missedFailedCount = signal(0)
  #rows: ListRow[] = []
  /** The failed rows; undefined if they must be collected again. */
  #failed: ListRow[] | undefined
  /** New rows that have not been drawn yet, oldest first. */
  #waiting: ListRow[] = []
  /** The number of the last request to show; Infinity while the list is not paused. */
  #pausedAt = Infinity
  /** The timer after which waiting rows are drawn; undefined if new rows are drawn at once. */
  #drawingPause: number | undefined

  rows(onlyFailed: boolean): readonly ListRow[] {
    if (!onlyFailed) return this.#rows
    this.#failed ??= this.#rows.filter(({ failed }) => failed)
    return this.#failed
  }

  /** Adds requests, oldest first. They wait while the list is paused or held. */
  add(rows: readonly ListRow[]): void {
    for (const row of rows) this.#waiting.push(row)
    const isFirst = this.#rows.length === 0
    const isBurst = rows.length >= burstMin
    if (!isFirst && this.#drawingPause !== undefined && this.#drawable < waitingMax) {
      if (!isBurst) this.heldCount.value = this.#waiting.length
      return
    }
    this.#draw()
    if (!isFirst && isBurst) this.#pauseDrawing(burstIntervalMs)
  }

  /** Pauses drawing for a moment, so that new rows do not move the row under the pointer. */
  hold(): void {
    this.#pauseDrawing(aimMs)
  }

  /** Returns how many rows are newer than a request. */
  countAfter(seq: number, onlyFailed: boolean): number {
    const rows = this.rows(onlyFailed)
    return rows.length - indexOf(rows, seq + 1)
  }

  /** Replaces rows that have the same numbers. */
  replace(rows: readonly ListRow[]): void {
    for (const row of rows) {
      const index = indexOf(this.#rows, row.seq)
      if (this.#rows[index]?.seq === row.seq) this.#rows[index] = row
    }
    this.#failed = undefined
    this.#changed()
  }

  /** Removes rows without a summary that are older than `keptFrom`: the receiver has dropped their requests. */
  forget(keptFrom: number): void {
    const isKept = (row: ListRow): boolean => row.summary !== undefined || row.seq >= keptFrom
    const removed = this.#rows.filter((row) => !isKept(row))
    this.#rows = this.#rows.filter(isKept)
    this.#failed = undefined
    this.missedFailedCount.value += removed.filter(({ failed }) => failed).length
    this.missed(removed.length)
    this.#changed()
  }

  /** Keeps later requests out of the list until {@link resume}. */
  pause(lastSeq: number): void {
    this.#pausedAt = lastSeq
  }

  /** Adds the requests that arrived during the pause. */
  resume(): void {
    this.#pausedAt = Infinity
    this.#draw()
  }

  /** Counts requests that the receiver has dropped. */
  missed(count: number): void {
    this.missedCount.value += count
  }

  clear(): void {
    this.#rows = []
    this.#failed = undefined
    this.#waiting = []
    this.heldCount.value = 0
    this.missedCount.value = 0
    this.missedFailedCount.value = 0
    this.#changed()
  }

  /** The number of waiting rows that arrived before the pause; all of them if the list is not paused. */
  get #drawable(): number {
    return indexOf(this.#waiting, this.#pausedAt + 1)
  }

  #pauseDrawing(pauseMs: number): void {
    clearTimeout(this.#drawingPause)
    this.#drawingPause = window.setTimeout(() => {
      this.#drawingPause = undefined
      const isBurst = this.#drawable >= burstRowsMin
      this.#draw()
      if (isBurst) this.#pauseDrawing(burstIntervalMs)
    }, pauseMs)
  }

  #draw(): void {
    const drawn = this.#waiting.splice(0, this.#drawable)
    this.#waiting.splice(0, this.#waiting.length - rowsMax)
    this.heldCount.value = this.#waiting.length
    if (drawn.length === 0) return
    for (const row of drawn) {
      this.#rows.push(row)
      if (row.failed) this.#failed?.push(row)
    }
    const excess = this.#rows.length - rowsMax
    if (excess > rowsSlack) {
      this.#rows.splice(0, excess)
      this.#failed = undefined
      this.missedCount.value += excess
    }
    this.#changed()
  }

  #changed(): void {
    this.failedCount.value = this.rows(true).length
    this.version.value += 1
  }
}

/** Returns the index of the first row with at least the given number. */
function indexOf(rows: readonly ListRow[], seq: number): number {
  let [from, to] = [0, rows.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((rows[middle]?.seq ?? 0) < seq) from = middle + 1
    else to = middle
  }
  return from
}
