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
  bytes: (digits) => `decode(${digits}, 'hex')`,
  gate: holdGate,
  newTextId: "nextval('evroute_message_ids')",
  lockTable: (table, mode) => run({ sql: `LOCK TABLE ${table} IN ${mode} MODE`, values: [] }),
} satisfies Dialect)
