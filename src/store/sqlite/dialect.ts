import { raw, scriptOf, sql, type Dialect } from '../sql.ts'

/** The SQL dialect of SQLite, which locks no rows because it has one writer. */
export const dialect: Dialect = Object.freeze({
  forUpdate: raw(''),
  forUpdateSkipLocked: raw(''),
  given: (rows, columns) => {
    const names = Object.keys(columns)
    const read = names.map((name) => `value ->> '$.${name}' AS ${name}`)
    return sql`(SELECT ${raw(read.join(', '))}, key + 1 AS position
      FROM json_each(${JSON.stringify(rows, names)})) AS given`
  },
  deliveriesOfEach: (_columns, condition) =>
    sql`CROSS JOIN evroute_deliveries delivery ON ${condition}`,
  isOneOf: (column, select) => sql`${raw(column)} IN (${select})`,
  isOfUser: (userId) => sql`user_id = ${userId}`,
  keyOf: (text) => text,
  key: (expression) => expression,
  gate: raw('gate AS (SELECT 1)'),
  jsonArray: raw('json_group_array'),
  newTextId: raw('NULL'),
  lockTable: () => scriptOf(() => undefined),
} satisfies Dialect)
