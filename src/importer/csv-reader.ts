import { limits, type JsonObject } from '../model/index.ts'
import { columnNames, csvDelimiters, detectDelimiter, unreadableTable } from './csv-header.ts'
import { HeldText, type WholeText } from './held-text.ts'
import { carriageReturn } from './json-bytes.ts'
import { parseRecord, parseRecords, type ParsedRecord, type RecordRange } from './parse-records.ts'
import { RecordScanner } from './record-scanner.ts'
import { badRow, type TableRow } from './row.ts'

const loneReturn = /\r(?!\n|$)/

interface ScannedRecord extends RecordRange {
  readonly line: number
}

interface Layout {
  readonly delimiter: string
  readonly names: readonly string[]
}

interface RecordContext {
  readonly layout: Layout
  readonly line: number
  readonly bytes: number
}

/**
 * Reads CSV (RFC 4180) in UTF-8 from chunks. The first record is the header, from which the delimiter is detected.
 * Blank lines are skipped.
 *
 * Spreadsheets write records without values at the end of a list: these are skipped too. Before the end, such records
 * may have lost their values, so each run of them is one bad row.
 *
 * A malformed or too large record, or one with the wrong number of cells, is a bad row and does not affect others.
 * csv-parse alone would also drop the valid records after a malformed one (`skip_records_with_error`).
 *
 * Memory holds only one record.
 */
export class CsvReader {
  readonly isClosed = false
  readonly #scanner: RecordScanner
  readonly #held = new HeldText(limits.callBytesMax)
  #recordLine: number
  #layout: Layout | undefined
  /** Consecutive records without values that are not reported yet: the line of the first, and their number. */
  #withoutValues: { readonly line: number; readonly count: number } | undefined

  /** @param line - the number of the line on which the text begins */
  constructor(line: number) {
    this.#recordLine = line
    this.#scanner = new RecordScanner(line)
    this.#scanner.setDelimiters(csvDelimiters.map((delimiter) => delimiter.charCodeAt(0)))
  }

  get bufferedBytes(): number {
    return this.#held.keptBytes
  }

  /** Whether there is no header yet. */
  get isEmpty(): boolean {
    return this.#layout === undefined
  }

  get line(): number {
    return this.#scanner.line
  }

  /** Adds the rows that the chunk completes, including the header. Throws `cannot_read_file` for an unusable header. */
  push(chunk: Buffer, rows: TableRow[]): number {
    let records: ScannedRecord[] = []
    const readGathered = (): void => {
      this.#readSound(chunk, records, rows)
      records = []
    }
    let start = 0
    const scanner = this.#scanner
    for (let end = scanner.next(chunk, 0); end < chunk.length; end = scanner.next(chunk, start)) {
      const record = { start, end, line: this.#recordLine }
      const isAlone = this.#held.keptBytes > 0 || this.#layout === undefined
      if (isAlone || end - start > limits.callBytesMax) {
        readGathered()
        this.#readOne(this.#held.complete(chunk.subarray(start, end)), rows)
      } else if (!isBlankLine(chunk, record)) {
        records.push(record)
      }
      this.#recordLine = this.#scanner.line
      start = end + 1
    }
    readGathered()
    this.#held.append(chunk.subarray(start))
    return chunk.length
  }

  /** Adds the last row, if no line feed ended it. A record with an open quote is a bad row. */
  end(rows: TableRow[]): void {
    const text = this.#held.complete(Buffer.alloc(0))
    if (!this.#scanner.isQuoted) {
      this.#readOne(text, rows)
      return
    }
    const message =
      'A quote that opens in this row is never closed, so the rest of the list cannot be read'
    if (this.#layout === undefined) throw unusableHeader('a quote in its header is not closed')
    rows.push(badRow(this.#recordLine, 'invalid_csv', message))
  }

  #readSound(chunk: Buffer, records: readonly ScannedRecord[], rows: TableRow[]): void {
    const layout = this.#layout
    if (layout === undefined) return
    const parsed = parseRecords(chunk, records, layout.delimiter)
    for (const [index, { start, end, line }] of records.entries()) {
      const record = parsed[index]
      if (record !== undefined) this.#addRow(record, { layout, line, bytes: end - start }, rows)
    }
  }

  #readOne({ bytes, isCut }: WholeText, rows: TableRow[]): void {
    const layout = this.#layout
    const line = this.#recordLine
    if (layout === undefined) {
      if (loneReturn.test(bytes.toString('latin1'))) {
        throw unusableHeader('its header contains a carriage return without a line feed after it')
      }
      if (isCut) throw unusableHeader(`its header has more than ${limits.callBytesMax} bytes`)
      this.#readHeader(bytes, rows)
    } else if (isCut) {
      this.#reportWithoutValues(rows)
      const message = `A row must be at most ${limits.callBytesMax} bytes`
      rows.push(badRow(line, 'event_too_large', message))
    } else if (!isBlankLine(bytes, { start: 0, end: bytes.length })) {
      const record = parseRecord(bytes, layout.delimiter)
      this.#addRow(record, { layout, line, bytes: bytes.length }, rows)
    }
  }

  #addRow(record: ParsedRecord, context: RecordContext, rows: TableRow[]): void {
    if (hasNoValues(record, context.layout)) {
      // A record of one empty cell is a blank line.
      if (record.cells.length === 1) return
      const { line, count } = this.#withoutValues ?? { line: context.line, count: 0 }
      this.#withoutValues = { line, count: count + 1 }
      return
    }
    this.#reportWithoutValues(rows)
    rows.push(rowOf(record, context))
  }

  #reportWithoutValues(rows: TableRow[]): void {
    if (this.#withoutValues === undefined) return
    const { line, count } = this.#withoutValues
    this.#withoutValues = undefined
    const what = count === 1 ? 'The row has' : `${count} rows have`
    rows.push(badRow(line, 'invalid_csv', `${what} no values`))
  }

  #readHeader(bytes: Buffer, rows: TableRow[]): void {
    // UTF-16 text is full of NUL bytes, and no column name has one.
    if (bytes.includes(0)) throw unusableHeader('it is not UTF-8 text')
    const delimiter = detectDelimiter(bytes.toString('utf8'))
    const record = parseRecord(bytes, delimiter)
    if (record.kind === 'invalid') throw unusableHeader(`its header is not valid ${record.problem}`)
    const names = columnNames(record.cells)
    const columns = names.filter((name) => name !== '')
    if (columns.length === 0) return
    this.#layout = { delimiter, names }
    this.#scanner.setDelimiters([delimiter.charCodeAt(0)])
    rows.push({ kind: 'header', line: this.#recordLine, columns })
  }
}

function isBlankLine(chunk: Buffer, { start, end }: RecordRange): boolean {
  return end === start || (end === start + 1 && chunk[start] === carriageReturn)
}

function hasNoValues(
  record: ParsedRecord,
  { names }: Layout,
): record is ParsedRecord & { readonly kind: 'cells' } {
  if (record.kind === 'invalid' || record.cells.length > names.length) return false
  return record.cells.every((cell) => cell.trim() === '')
}

function rowOf(record: ParsedRecord, { layout, line, bytes }: RecordContext): TableRow {
  if (record.kind === 'invalid') {
    return badRow(line, 'invalid_csv', `The row is not valid ${record.problem}`)
  }
  const { cells } = record
  const { names } = layout
  if (cells.length === names.length) {
    return { kind: 'row', line, value: rowValue(names, cells), bytes }
  }
  const message = `The row has the wrong number of cells: ${cells.length} instead of ${names.length}`
  return badRow(line, 'invalid_csv', message)
}

function rowValue(names: readonly string[], cells: readonly string[]): JsonObject {
  const fields: [string, string][] = []
  for (const [index, name] of names.entries()) {
    if (name !== '') fields.push([name, cells[index] ?? ''])
  }
  // Unlike an assignment, this treats `__proto__` as an ordinary name.
  return Object.fromEntries(fields)
}

function unusableHeader(why: string): Error {
  return unreadableTable(why, 'A list must be NDJSON, a JSON array, or CSV in UTF-8 with a header.')
}
