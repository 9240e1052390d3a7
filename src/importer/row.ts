import { isUtf8 } from 'node:buffer'
import {
  isJsonObject,
  limits,
  messageOf,
  parseFiniteJson,
  type JsonObject,
  type RejectionCode,
} from '../model/index.ts'
import type { WholeText } from './held-text.ts'
import { countLines, skipBlank, trimBlank } from './json-bytes.ts'

/** A row that is a JSON object, though not necessarily a valid call. */
export interface GoodRow {
  readonly kind: 'row'
  /** The line of the uncompressed text on which the row begins, from 1. */
  readonly line: number
  /** The value of the row, with the context and integrations of its batch merged into it. */
  readonly value: JsonObject
  /** The number of bytes of the row, without the blanks around it. */
  readonly bytes: number
}

/** An invalid row: `invalid_json`, `not_an_object`, `event_too_large`, or `wrong_type` for the context of a batch. */
export interface BadRow {
  readonly kind: 'bad'
  /** The line of the uncompressed text on which the row begins, from 1. */
  readonly line: number
  /** Only rows of a table can have the code `invalid_csv`. */
  readonly code: RejectionCode | 'invalid_csv'
  readonly message: string
}

/** A row of a file, valid or not. */
export type Row = GoodRow | BadRow

interface TableHeader {
  readonly kind: 'header'
  /** The line on which the header begins, from 1. */
  readonly line: number
  /** The trimmed names of the columns. Columns without a name are left out. */
  readonly columns: readonly string[]
}

/** In CSV, the header comes first, and the values of a good row are strings. JSON has no header. */
export type TableRow = TableHeader | Row

/** @param line - the line on which the row begins, from 1 */
export function badRow(line: number, code: BadRow['code'], message: string): BadRow {
  return { kind: 'bad', line, code, message }
}

/** Parses one row; undefined if the text is blank. The text begins on `line`; the row may begin on a later one. */
export function parseRow(
  { bytes, isCut }: WholeText,
  line: number,
  bytesMax: number = limits.callBytesMax,
): Row | undefined {
  const rowLine = line + leadingLines(bytes)
  const text = trimBlank(bytes)
  if (isCut || text.length > bytesMax) {
    const message = `A row must be at most ${bytesMax} bytes`
    return badRow(rowLine, 'event_too_large', message)
  }
  if (text.length === 0) return undefined
  const parsed = parseJson(text)
  if (parsed.kind === 'invalid') {
    return badRow(rowLine, 'invalid_json', `The row is not valid ${parsed.problem}`)
  }
  if (isJsonObject(parsed.value)) {
    return { kind: 'row', line: rowLine, value: parsed.value, bytes: text.length }
  }
  const message = `A row must be a JSON object, not ${nameOf(parsed.value)}`
  return badRow(rowLine, 'not_an_object', message)
}

/** Counts the blank lines at the beginning. */
export function leadingLines(text: Buffer): number {
  const start = skipBlank(text)
  return start === 0 ? 0 : countLines(text.subarray(0, start))
}

/** `problem` completes a message that ends in "is not valid": `UTF-8`, or `JSON: <why>`. */
type ParsedJson =
  | { readonly kind: 'valid'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly problem: string }

const replacementCharacter = '\ufffd'

/** Parses bytes as JSON in UTF-8. Never throws. */
export function parseJson(text: Buffer): ParsedJson {
  const json = text.toString('utf8')
  // Decoding replaces invalid bytes with this character, but valid text may contain it too.
  if (json.includes(replacementCharacter) && !isUtf8(text)) {
    return { kind: 'invalid', problem: 'UTF-8' }
  }
  try {
    return { kind: 'valid', value: parseFiniteJson(json) }
  } catch (error) {
    // Newer engines add a position within the row. Remove it, because people would take it for a position in the file.
    const problem = messageOf(error).replace(/ \(line \d+ column \d+\)$/, '')
    return { kind: 'invalid', problem: `JSON: ${problem}` }
  }
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`
}
