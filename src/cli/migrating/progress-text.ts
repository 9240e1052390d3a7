import type { MoveProgress } from '../../store/index.ts'
import { formatCount } from '../output/numbers.ts'

/** The progress line of a migration: `moving deliveries: 120,000 of 200,000 · 41,230/s`. */
export class ProgressText {
  readonly #elapsedMs: () => number
  #line = 'looking at both sides'
  #counted = ''
  /** The time and the row count when the current kind of rows began. */
  #from = { atMs: 0, rows: 0 }

  /** @param elapsedMs - the time since the migration began */
  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  /** The current line. */
  get line(): string {
    return this.#line
  }

  /** Updates the line. */
  update({ title, rows, rowsAll }: MoveProgress): void {
    const atMs = this.#elapsedMs()
    const counted = `moving ${title}`
    if (counted !== this.#counted) this.#from = { atMs, rows }
    this.#counted = counted
    const done = `${counted}: ${formatCount(rows)} of ${formatCount(rowsAll)}`
    const seconds = (atMs - this.#from.atMs) / 1_000
    const rate = Math.round((rows - this.#from.rows) / seconds)
    this.#line = seconds > 0 ? `${done} · ${formatCount(rate)}/s` : done
  }
}
