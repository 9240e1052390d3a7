import type { Query, SqlValue } from '../sql/index.ts'
import type { Column, Page, Row, RowKind } from './row-kind.ts'

/**
 * Writes a page and notes how far the move has come: `$1` and `$2` are the kind and the place of its last
 * row, `$3` and `$4` those before it. Nothing is written, and nothing answered, where the move is not where it
 * is thought to be.
 */
export function writeSql(kind: RowKind): string {
  const names = kind.columns.map(({ name }) => name).join(', ')
  const arrays = kind.columns.map(({ type }, place) => `$${place + 5}::${type}[]`).join(', ')
  return `
    WITH reached AS (
      UPDATE evroute_moves SET kind = $1, position = $2
      WHERE completed_at IS NULL AND kind IS NOT DISTINCT FROM $3::text
        AND position IS NOT DISTINCT FROM $4::text
      RETURNING 1
    ), written AS (
      INSERT INTO ${kind.table} (${names}) OVERRIDING SYSTEM VALUE
      SELECT page.* FROM unnest(${arrays}) AS page (${names}) WHERE EXISTS (SELECT FROM reached)
    )
    SELECT FROM reached`
}

/** All rows behind the place before a page, up to its last one. */
export function rangeQuery({ kind, after, last }: Page): Query {
  const { table, key } = kind
  const names = key.map(({ name }) => name).join(', ')
  const places = (first: number): string =>
    `(${key.map(({ type }, place) => `$${first + place}::${type}`).join(', ')})`
  const behind = after === null ? '' : `AND (${names}) > ${places(1 + key.length)}`
  return {
    sql: `SELECT *, row_number() OVER (ORDER BY ${names}) AS page_place FROM ${table}
      WHERE (${names}) <= ${places(1)} ${behind}`,
    values: [...(last ?? []), ...(after ?? [])],
  }
}

/** The rows of a page, by what they are found by. */
export function foundQuery({ kind, rows }: Page): Query {
  const { table, foundBy = [] } = kind
  const names = foundBy.map(({ name }) => name).join(', ')
  const arrays = foundBy.map(({ type }, place) => `$${place + 1}::${type}[]`).join(', ')
  return {
    sql: `SELECT ${table}.*, page_place
      FROM unnest(${arrays}) WITH ORDINALITY AS given (${names}, page_place) JOIN ${table} USING (${names})`,
    values: columnArrays(foundBy, rows),
  }
}

/** The values of columns, an array each. */
export function columnArrays(
  columns: readonly Column[],
  rows: readonly Row[],
): readonly SqlValue[] {
  return columns.map(({ name }) => rows.map((row) => row[name] ?? null))
}
