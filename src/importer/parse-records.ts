import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse/sync'
import { messageOf } from '../model/index.ts'
import { carriageReturn } from './json-bytes.ts'

/** The cells of a record, or the reason why it is invalid. */
export type ParsedRecord =
  | { readonly kind: 'cells'; readonly cells: readonly string[] }
  | { readonly kind: 'invalid'; readonly problem: string }

/** The range of a record in a text, without its line feed. */
export interface RecordRange {
  readonly start: number
  readonly end: number
}

/** Parses adjacent records together. If one is invalid, parses them one by one, so that the others don't fail too. */
export function parseRecords(
  text: Buffer,
  ranges: readonly RecordRange[],
  delimiter: string,
): readonly ParsedRecord[] {
  const [first] = ranges
  if (first === undefined) return []
  const together = text.subarray(first.start, ranges.at(-1)?.end)
  try {
    const records = isUtf8(together) ? cellsOf(together, delimiter) : []
    if (records.length === ranges.length) return records.map((cells) => ({ kind: 'cells', cells }))
  } catch {
    // One of the records is invalid, so parse them one by one.
  }
  return ranges.map(({ start, end }) => parseRecord(text.subarray(start, end), delimiter))
}

/** Parses one record, without the line feed at its end. */
export function parseRecord(record: Buffer, delimiter: string): ParsedRecord {
  if (!isUtf8(record)) return { kind: 'invalid', problem: 'UTF-8' }
  try {
    const [cells, ...others] = cellsOf(record, delimiter)
    if (others.length > 0) return { kind: 'invalid', problem: 'CSV: it is more than one record' }
    return { kind: 'cells', cells: cells ?? [] }
  } catch (error) {
    return { kind: 'invalid', problem: `CSV: ${problemOf(error)}` }
  }
}

function cellsOf(text: Buffer, delimiter: string): string[][] {
  return parse(withoutReturn(text), {
    delimiter,
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  })
}

/** Drops a final carriage return, which csv-parse would make part of a cell if no line feed follows. */
function withoutReturn(text: Buffer): Buffer {
  return text.at(-1) === carriageReturn ? text.subarray(0, -1) : text
}

function problemOf(error: unknown): string {
  if (!(error instanceof CsvError)) return messageOf(error)
  switch (error.code as string) {
    case 'CSV_INVALID_CLOSING_QUOTE':
      return 'text follows the closing quote of a cell, or a quote within it is not doubled'
    case 'INVALID_OPENING_QUOTE':
      return 'a quote is inside a cell that does not begin with one'
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is not closed'
    default:
      return error.code
  }
}
