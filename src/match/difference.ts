import { columnsOf, cutToColumns, padToColumns, shortText, type JsonValue } from '../model/index.ts'
import { fieldLabel, valuesOf } from './field.ts'
import { globText } from './glob.ts'
import { termHolds, type Match, type Term } from './match.ts'
import type { Subject } from './subject.ts'

/** A term of a match compared with a request. All strings are safe to print on one line. */
export interface DifferenceRow {
  readonly field: string
  /** The expected value, such as `>10`, `track or page`, `not valid`, `absent`. */
  readonly expected: string
  /** The request's value in the match language; `absent` if the request has no value. */
  readonly received: string
  readonly holds: boolean
}

const charactersMax = 200

/** Compares a match with a request. Returns a row for each term, in the order of the match. */
export function difference(match: Match, subject: Subject): readonly DifferenceRow[] {
  return match.terms.map((term) => ({
    field: shortText(fieldLabel(term.field), charactersMax),
    expected: shortText(expectedText(term), charactersMax),
    received: shortText(receivedText(term, subject), charactersMax),
    holds: termHolds(term, subject),
  }))
}

function expectedText({ isNegated, tests }: Term): string {
  const text = tests.map((test) => test.text).join(' or ')
  if (!isNegated) return text
  return tests.some(({ kind }) => kind === 'present') ? 'absent' : `not ${text}`
}

function receivedText({ field }: Term, subject: Subject): string {
  const values = valuesOf(field, subject)
  if (values.length === 0) return 'absent'
  // Only words and paths can have several values. A path has two, without its query and with it: show the second.
  const shown = field.kind === 'word' ? values : values.slice(-1)
  return shown.map(valueText).join(', ')
}

/** Writes a value in the match language, so that equal values look equal in both columns. */
function valueText(value: JsonValue): string {
  return typeof value === 'string'
    ? globText([value.slice(0, 2 * charactersMax)])
    : JSON.stringify(value)
}

const headings: DifferenceRow = {
  field: '',
  expected: 'expected',
  received: 'received',
  holds: true,
}

/**
 * Formats rows as a table without a final line break. Lines have at most `width` terminal columns, or 40 if the width
 * is smaller. `!` marks terms that don't hold.
 */
export function differenceText(rows: readonly DifferenceRow[], width = 80): string {
  const lines = [headings, ...rows]
  const room = Math.max(width, 40) - 6
  const fieldWidth = Math.min(widest(lines, 'field'), Math.floor(room / 3))
  const expectedWidth = Math.min(
    widest(lines, 'expected'),
    // "expected" may also use space that "received" leaves free.
    Math.max(room - fieldWidth - widest(lines, 'received'), Math.floor((room - fieldWidth) / 2)),
  )
  const receivedWidth = room - fieldWidth - expectedWidth
  return lines
    .map(({ field, expected, received, holds }) =>
      [
        `${holds ? ' ' : '!'} ${cell(field, fieldWidth)}`,
        cell(expected, expectedWidth),
        cell(received, receivedWidth),
      ]
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function widest(rows: readonly DifferenceRow[], column: 'field' | 'expected' | 'received'): number {
  return Math.max(...rows.map((row) => columnsOf(row[column])))
}

function cell(text: string, width: number): string {
  return padToColumns(cutToColumns(text, width), width)
}
