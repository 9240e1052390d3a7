import { scriptOf, type Dialect } from '../sql/index.ts'

/** The words of SQLite. It locks no rows, because it has one writer. */
export const dialect: Dialect = Object.freeze({
  forUpdate: '',
  forUpdateSkipLocked: '',
  given: (value, columns) => {
    const names = Object.keys(columns).map((name) => `value ->> '$.${name}' AS ${name}`)
    return `(SELECT ${names.join(', ')}, key + 1 AS place FROM json_each(${value})) AS given`
  },
  isOneOf: (column, select) => `${column} IN (${select})`,
  keyOf: (text) => text,
  key: (expression) => expression,
  gate: 'gate AS (SELECT 1)',
  newTextId: 'NULL',
  lockTable: () => scriptOf(() => undefined),
} satisfies Dialect)
