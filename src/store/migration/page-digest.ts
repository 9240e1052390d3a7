import { createHash } from 'node:crypto'
import type { Column, ColumnType, Row, RowKind, RowValue } from './row-kind.ts'

/** A page of rows in few bytes: equal for equal rows in the same order. */
export function digestOf(kind: RowKind, rows: readonly Row[]): string {
  const lines = rows.map((row) =>
    kind.columns.map(({ name, type }) => textOf(type, row[name] ?? null)).join('\t'),
  )
  return createHash('sha256').update(lines.join('\n')).digest('hex')
}

/** The same as a column of a query in PostgreSQL, over the rows of `page`, which have a `page_place`. */
export function digestSql(kind: RowKind): string {
  const line = kind.columns.map(textSql).join(` || E'\\t' || `)
  const lines = `coalesce(string_agg(${line}, E'\\n' ORDER BY page_place), '')`
  return `encode(sha256(convert_to(${lines}, 'UTF8')), 'hex')`
}

/** A text is told from one that is absent. */
function textOf(type: ColumnType, value: RowValue): string {
  if (value === null) return '-'
  if (type === 'text') return `=${String(value)}`
  if (type === 'boolean') return String(Boolean(value))
  if (type !== 'double precision') return String(value)
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(Number(value))
  return bytes.toString('hex')
}

function textSql({ name, type }: Column): string {
  if (type === 'text') return `coalesce('=' || ${name}, '-')`
  if (type === 'double precision') return `coalesce(encode(float8send(${name}), 'hex'), '-')`
  // How bytes are written as text is a setting of the server.
  if (type === 'bytea') return `coalesce('\\x' || encode(${name}, 'hex'), '-')`
  return `coalesce(${name}::text, '-')`
}
