import { DocumentReader } from './document-reader.ts'
import { inflate } from './inflate.ts'
import { refuseCsv } from './foreign-format.ts'
import { detectFormat } from './format.ts'
import { heldTextBytesMax } from './held-text.ts'
import { LineReader } from './line-reader.ts'
import { countLines, skipBlank } from './json-bytes.ts'
import { badRow, type Row } from './row.ts'

type Reader = LineReader | DocumentReader

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
  const reader = new RowReader(rowBytesMax)
  for await (const part of inflate(input)) {
    const rows = part.kind === 'text' ? reader.push(part.bytes) : reader.end(part.message)
    if (rows.length > 0) yield rows
    if (part.kind === 'damaged') return
  }
  const rows = reader.end()
  if (rows.length > 0) yield rows
}

/** Reads rows from NDJSON, or from successive JSON documents, in bounded memory. */
export class RowReader {
  #reader: Reader | undefined
  #undecided: Buffer = Buffer.alloc(0)
  #line: number
  readonly #rowBytesMax: number | undefined
  #isFirst = true

  constructor(rowBytesMax?: number, line = 1) {
    this.#rowBytesMax = rowBytesMax
    this.#line = line
  }

  get bufferedBytes(): number {
    return this.#undecided.length + (this.#reader?.bufferedBytes ?? 0)
  }

  /** Returns the rows that the chunk completes. Throws `cannot_read_file` if the text is CSV. */
  push(chunk: Buffer): readonly Row[] {
    const rows: Row[] = []
    this.#read(this.#withUndecided(chunk), false, rows)
    return rows
  }

  /** Returns the remaining rows. `damage` says why the text ends early, if it does. */
  end(damage?: string): readonly Row[] {
    const rows: Row[] = []
    this.#read(this.#withUndecided(Buffer.alloc(0)), true, rows)
    if (this.#reader !== undefined) this.#reader.end(rows, damage)
    else if (damage !== undefined) rows.push(badRow(this.#line, 'invalid_json', damage))
    return rows
  }

  #read(text: Buffer, isWhole: boolean, rows: Row[]): void {
    let rest = text
    while (rest.length > 0) {
      if (this.#reader === undefined) rest = this.#skipBlank(rest)
      const reader = (this.#reader ??= this.#open(rest, isWhole))
      if (reader === undefined) {
        this.#undecided = Buffer.from(rest)
        return
      }
      rest = rest.subarray(reader.push(rest, rows))
      if (reader.isClosed) this.#close(reader)
    }
  }

  #skipBlank(text: Buffer): Buffer {
    const start = skipBlank(text)
    this.#line += countLines(text.subarray(0, start))
    return text.subarray(start)
  }

  #open(text: Buffer, isWhole: boolean): Reader | undefined {
    if (text.length === 0) return undefined
    const isEnough = isWhole || text.length >= heldTextBytesMax
    const format = detectFormat(text, isEnough)
    if (format === 'line' && this.#isFirst && !isNoCsv(text, isEnough)) return undefined
    this.#isFirst &&= format === undefined
    switch (format) {
      case 'line':
      case 'lines':
        return new LineReader(this.#line, {
          isSingle: format === 'line',
          rowBytesMax: this.#rowBytesMax,
        })
      case 'document':
        return new DocumentReader(this.#line)
      case undefined:
        return undefined
    }
  }

  #close(reader: Reader): void {
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
