import { HeldText, heldTextBytesMax } from './held-text.ts'
import { lineFeed } from './json-bytes.ts'
import { badRow, parseRow, type Row, type TableRow } from './row.ts'

const nothing = Buffer.alloc(0)

interface LineReaderOptions {
  readonly isSingle: boolean
  /** Maximum size of a row; by default the limit of a call. A longer row is a bad row. */
  readonly rowBytesMax: number | undefined
}

/** Reads NDJSON. Each line that is not blank is a row. */
export class LineReader {
  readonly #held: HeldText
  readonly #options: LineReaderOptions
  #line: number
  #isClosed = false

  constructor(line: number, options: LineReaderOptions) {
    this.#line = line
    this.#options = options
    this.#held = new HeldText(Math.max(heldTextBytesMax, options.rowBytesMax ?? 0))
  }

  get line(): number {
    return this.#line
  }

  /** Whether the reader reads only a single line, and has read it. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  get bufferedBytes(): number {
    return this.#held.keptBytes
  }

  /** Adds the rows that the chunk completes. Returns how many bytes it read: all, unless the reader closes. */
  push(chunk: Buffer, rows: TableRow[]): number {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      const row = this.#rowOf(chunk.subarray(start, end))
      if (row !== undefined) rows.push(row)
      this.#line++
      start = end + 1
      this.#isClosed = this.#options.isSingle
      if (this.#isClosed) return start
    }
    this.#held.append(chunk.subarray(start))
    return chunk.length
  }

  /** Adds the last row, if no line feed ended it. If `damage` ended the text, drops a last row that is invalid. */
  end(rows: TableRow[], damage?: string): void {
    const row = this.#rowOf(nothing)
    if (row?.kind === 'row' || (row !== undefined && damage === undefined)) rows.push(row)
    if (damage !== undefined) rows.push(badRow(this.#line, 'invalid_json', damage))
  }

  #rowOf(rest: Buffer): Row | undefined {
    return parseRow(this.#held.complete(rest), this.#line, this.#options.rowBytesMax)
  }
}
