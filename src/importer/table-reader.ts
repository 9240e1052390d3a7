import { CsvReader } from './csv-reader.ts'
import {
  byteOrderMark,
  countLines,
  lineFeed,
  mayBecomeMark,
  openBrace,
  openBracket,
  skipBlank,
  startsWithMark,
} from './json-bytes.ts'
import { RowReader } from './row-reader.ts'
import type { TableRow } from './row.ts'

/** Maximum number of blank bytes that are kept until the format is known. */
const blankBytesMax = 64 * 1024

const nothing = Buffer.alloc(0)

/** Reads a table from a text that arrives in chunks. A text that begins like JSON is JSON; any other is CSV. */
export class TableReader {
  #reader: RowReader | CsvReader | undefined
  #undecided: Buffer = Buffer.alloc(0)
  #line = 1

  get bufferedBytes(): number {
    return this.#undecided.length + (this.#reader?.bufferedBytes ?? 0)
  }

  /** Whether the text so far has neither a header nor JSON. */
  get isEmpty(): boolean {
    return (
      this.#reader === undefined || (this.#reader instanceof CsvReader && !this.#reader.hasHeader)
    )
  }

  /** Returns the rows that the chunk completes. Throws `cannot_read_file` if the header cannot be used. */
  push(chunk: Buffer): readonly TableRow[] {
    const rows: TableRow[] = []
    this.#read(chunk, false, rows)
    return rows
  }

  /** Returns the remaining rows. Throws `cannot_read_file` if the header cannot be used. */
  end(): readonly TableRow[] {
    const rows: TableRow[] = []
    this.#read(Buffer.alloc(0), true, rows)
    if (this.#reader instanceof CsvReader) this.#reader.end(rows)
    else rows.push(...(this.#reader?.end() ?? []))
    return rows
  }

  #read(chunk: Buffer, isWhole: boolean, rows: TableRow[]): void {
    let text = chunk
    if (this.#reader === undefined) {
      text = this.#skipBlankLines(Buffer.concat([this.#undecided, chunk]))
      this.#reader = this.#open(text, isWhole)
      this.#undecided = this.#reader === undefined ? text.subarray(0, blankBytesMax) : nothing
      if (this.#reader instanceof CsvReader && startsWithMark(text)) {
        text = text.subarray(byteOrderMark.length)
      }
    }
    if (this.#reader instanceof CsvReader) this.#reader.push(text, rows)
    else rows.push(...(this.#reader?.push(text) ?? []))
  }

  /** Skips blank lines, but not the blanks after them: leading tabs in a header stand for columns. */
  #skipBlankLines(text: Buffer): Buffer {
    const blank = text.subarray(0, skipBlank(text))
    this.#line += countLines(blank)
    return text.subarray(blank.lastIndexOf(lineFeed) + 1)
  }

  #open(text: Buffer, isWhole: boolean): RowReader | CsvReader | undefined {
    const start = skipBlank(text)
    if (!isWhole && mayBecomeMark(text.subarray(start))) return undefined
    const first = text[start]
    if (first === undefined) return undefined
    return first === openBrace || first === openBracket
      ? new RowReader(undefined, this.#line)
      : new CsvReader(this.#line)
  }
}
