import { isUtf8 } from 'node:buffer'

/** The cells of a record, or the reason why it is invalid. */
export type SplitRecord =
  | { readonly kind: 'cells'; readonly cells: readonly string[] }
  | { readonly kind: 'invalid'; readonly problem: string }

/** A quoted cell. A quote inside it is doubled. */
const quotedCell = /"([^"]*(?:""[^"]*)*)"(?!")/y

/** Splits a CSV record into its cells. The record has no line feed at its end, but may have a carriage return. */
export function splitRecord(record: Buffer, delimiter: string): SplitRecord {
  if (!isUtf8(record)) return { kind: 'invalid', problem: 'UTF-8' }
  const text = record.toString('utf8').replace(/\r$/, '')
  const cells: string[] = []
  for (let start = 0; ;) {
    let end = text.indexOf(delimiter, start)
    if (end === -1) end = text.length
    let cell = text.slice(start, end)
    if (cell.startsWith('"')) {
      quotedCell.lastIndex = start
      const [, quoted] = quotedCell.exec(text) ?? []
      if (quoted === undefined) return invalid('a quote is not closed')
      cell = quoted.replaceAll('""', '"')
      end = quotedCell.lastIndex
      if (end < text.length && text[end] !== delimiter) {
        return invalid(
          'text follows the closing quote of a cell, or a quote within it is not doubled',
        )
      }
    } else if (cell.includes('"')) {
      return invalid('a quote is inside a cell that does not begin with one')
    }
    cells.push(cell)
    if (end === text.length) return { kind: 'cells', cells }
    start = end + 1
  }
}

function invalid(problem: string): SplitRecord {
  return { kind: 'invalid', problem: `CSV: ${problem}` }
}
