import { DocumentReader } from './document-reader.ts'
import { inflate } from './inflate.ts'
import { refuseCsv } from './foreign-format.ts'
import { detectFormat } from './format.ts'
import { heldTextBytesMax } from './held-text.ts'
import { LineReader } from './line-reader.ts'
import { byteOrderMark, countLines, lineFeed, skipBlank, startsWithMark } from './json-bytes.ts'
import { badRow, type Row, type TableRow } from './row.ts'

/** Reads a part of a text: one document, one line, or everything that follows. */
interface PartReader {
  readonly bufferedBytes: number
  /** Whether the part has been read to its end. */
  readonly isClosed: boolean
  /** The number of the line at which the reader is. */
  readonly line: number
  /** Whether a table has no header. */
  readonly isEmpty?: boolean
  /** Adds the rows that the chunk completes. Returns how many bytes it read: all, unless the part ends. */
  push(chunk: Buffer, rows: TableRow[]): number
  /** Adds the last row. `damage` says why the text ends early, if it does. */
  end(rows: TableRow[], damage?: string): void
}

interface RowReaderOptions {
  readonly rowBytesMax?: number | undefined
  /** Opens a text that does not begin like JSON. By default, its lines are bad rows, and CSV is refused. */
  readonly openTable?: (line: number) => PartReader
}

/**
 * Reads the rows of a stream in groups: NDJSON, a JSON array, a batch document (`{"batch":[...]}`), or objects over
 * several lines. All may be gzipped. The format is detected from the content.
 *
 * An invalid row is a bad row and does not affect others. Memory holds at most 1 MiB of one row, or `rowBytesMax` if
 * that is more. The `context` and `integrations` of a batch are defaults for each of its calls. A `context` or
 * `integrations` after the calls is a bad row.
 *
 * @param rowBytesMax - maximum size of a line; by default the limit of a call
 * @throws EvrouteError `cannot_read_file` if the input is neither JSON nor text in UTF-8
 */
export async function* readRows(
  input: AsyncIterable<Uint8Array>,
  rowBytesMax?: number,
): AsyncGenerator<readonly Row[]> {
  const reader = new RowReader({ rowBytesMax })
  for await (const part of inflate(input)) {
    const rows = part.kind === 'text' ? reader.push(part.bytes) : reader.end(part.message)
    if (rows.length > 0) yield rows
    if (part.kind === 'damaged') return
  }
  const rows = reader.end()
  if (rows.length > 0) yield rows
}

/** Reads rows from NDJSON, or from successive JSON documents, in bounded memory. */
export class RowReader<ReadRow extends TableRow = Row> {
  readonly #options: RowReaderOptions
  #reader: PartReader | undefined
  #undecided: Buffer = Buffer.alloc(0)
  #line = 1
  #isFirst = true

  constructor(options: RowReaderOptions = {}) {
    this.#options = options
  }

  get bufferedBytes(): number {
    return this.#undecided.length + (this.#reader?.bufferedBytes ?? 0)
  }

  /** Whether the text so far has neither JSON nor the header of a table. */
  get isEmpty(): boolean {
    return this.#isFirst || this.#reader?.isEmpty === true
  }

  /** Returns the rows that the chunk completes. Throws `cannot_read_file` if the text is CSV. */
  push(chunk: Buffer): readonly ReadRow[] {
    const rows: ReadRow[] = []
    this.#read(this.#withUndecided(chunk), false, rows)
    return rows
  }

  /** Returns the remaining rows. `damage` says why the text ends early, if it does. */
  end(damage?: string): readonly ReadRow[] {
    const rows: ReadRow[] = []
    this.#end(rows, damage)
    return rows
  }

  #end(rows: TableRow[], damage: string | undefined): void {
    this.#read(this.#withUndecided(Buffer.alloc(0)), true, rows)
    if (this.#reader !== undefined) this.#reader.end(rows, damage)
    else if (damage !== undefined) rows.push(badRow(this.#line, 'invalid_json', damage))
  }

  #read(text: Buffer, isWhole: boolean, rows: TableRow[]): void {
    let rest = text
    while (rest.length > 0) {
      if (this.#reader === undefined) {
        rest = this.#skipBlankLines(rest)
        this.#reader = this.#open(rest, isWhole)
        if (this.#reader !== undefined && startsWithMark(rest)) {
          rest = rest.subarray(byteOrderMark.length)
        }
      }
      const reader = this.#reader
      if (reader === undefined) {
        // Only blanks can be longer.
        this.#undecided = Buffer.from(rest.subarray(0, heldTextBytesMax))
        return
      }
      rest = rest.subarray(reader.push(rest, rows))
      if (reader.isClosed) this.#close(reader)
    }
  }

  /** Skips blank lines, but not the blanks after them: leading tabs in the header of a table stand for columns. */
  #skipBlankLines(text: Buffer): Buffer {
    const blank = text.subarray(0, skipBlank(text))
    this.#line += countLines(blank)
    return text.subarray(blank.lastIndexOf(lineFeed) + 1)
  }

  #open(text: Buffer, isWhole: boolean): PartReader | undefined {
    if (skipBlank(text) === text.length) return undefined
    const isEnough = isWhole || text.length >= heldTextBytesMax
    const format = detectFormat(text, isEnough)
    if (format === undefined) return undefined
    if (format === 'line' && this.#isFirst) {
      const { openTable } = this.#options
      if (openTable === undefined && !isNoCsv(text, isEnough)) return undefined
      this.#isFirst = false
      if (openTable !== undefined) return openTable(this.#line)
    }
    this.#isFirst = false
    if (format === 'document') return new DocumentReader(this.#line)
    const { rowBytesMax } = this.#options
    return new LineReader(this.#line, { isSingle: format === 'line', rowBytesMax })
  }

  #close(reader: PartReader): void {
    this.#line = reader.line
    this.#reader = undefined
  }

  #withUndecided(chunk: Buffer): Buffer {
    if (this.#undecided.length === 0) return chunk
    const text = Buffer.concat([this.#undecided, chunk])
    this.#undecided = Buffer.alloc(0)
    return text
  }
}

/** Throws `cannot_read_file` if the first line looks like a CSV header. False if more text is needed to decide. */
function isNoCsv(text: Buffer, isEnough: boolean): boolean {
  const [line = '', ...others] = text.toString('utf8').split('\n', 2)
  const isLineKnown = others.length > 0 || isEnough
  if (isLineKnown) refuseCsv(line)
  return isLineKnown
}
