import { hash } from 'node:crypto'
import { run, type Dialect } from '../sql/index.ts'
import { holdGate } from './suppressions.ts'

/** The words of PostgreSQL. */
export const dialect: Dialect = Object.freeze({
  forUpdate: 'FOR UPDATE',
  forUpdateSkipLocked: 'FOR UPDATE SKIP LOCKED',
  given: (value, columns) => {
    const typed = Object.entries(columns).map(([name, type]) => `${name} ${type}`)
    const names = [...Object.keys(columns), 'place']
    return `ROWS FROM (jsonb_to_recordset(${value}::jsonb) AS (${typed.join(', ')}))
      WITH ORDINALITY AS given (${names.join(', ')})`
  },
  isOneOf: (column, select) => `${column} = ANY (ARRAY(${select}))`,
  keyOf: keyDigest,
  key: (expression) => `decode(${expression}, 'hex')`,
  gate: holdGate,
  newTextId: "nextval('evroute_message_ids')",
  lockTable: (table, mode) => run({ sql: `LOCK TABLE ${table} IN ${mode} MODE`, values: [] }),
} satisfies Dialect)

/** Half of a SHA-256 in hexadecimal digits, which is enough to prevent deliberate collisions. */
export function keyDigest(text: string): string {
  return hash('sha256', text).slice(0, 32)
}
