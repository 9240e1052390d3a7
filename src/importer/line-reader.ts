import { HeldText } from './held-text.ts'
import { lineFeed } from './json-bytes.ts'
import { badRow, parseRow, type Row } from './row.ts'

const nothing = Buffer.alloc(0)

/** Reads NDJSON: each line that is not blank is a row. */
export class LineReader {
  readonly #held = new HeldText()
  #line: number

  /** Lines go on to the end of the text. */
  readonly isClosed = false

  /** @param line - the number of the line that comes first */
  constructor(line: number) {
    this.#line = line
  }

  /** The number of the line that is being read. */
  get line(): number {
    return this.#line
  }

  /** Bytes that are kept for the next chunk. */
  get bufferedBytes(): number {
    return this.#held.keptBytes
  }

  /**
   * Adds the rows that the chunk completes.
   *
   * @returns how many bytes of the chunk were read: all of them
   */
  push(chunk: Buffer, rows: Row[]): number {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      const row = parseRow(this.#held.complete(chunk.subarray(start, end)), this.#line)
      if (row !== undefined) rows.push(row)
      this.#line++
      start = end + 1
    }
    this.#held.append(chunk.subarray(start))
    return chunk.length
  }

  /**
   * Adds the last row, when no line feed ended it.
   *
   * @param damage - why the text ends too early; a last row that cannot be used is part of that
   */
  end(rows: Row[], damage?: string): void {
    const row = parseRow(this.#held.complete(nothing), this.#line)
    if (row?.kind === 'row' || (row !== undefined && damage === undefined)) rows.push(row)
    if (damage !== undefined) rows.push(badRow(this.#line, 'invalid_json', damage))
  }
}
