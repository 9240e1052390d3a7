import { openDatabase } from '../../src/store/sqlite/database.ts'
import { schemaOf, type PostgresDatabases } from './postgres.ts'

/** Tables that keep userIds on purpose: those of regulations. */
const namingTables = ['regulation_users', 'suppressions']

/** Returns the columns that contain a text, except those of {@link namingTables}. */
export async function findInPostgres(
  databases: Pick<PostgresDatabases, 'query'>,
  url: string,
  text: string,
): Promise<readonly string[]> {
  const columns = await databases.query(`
    SELECT table_name || '.' || column_name AS name, format(
      'SELECT FROM %I.%I WHERE position(''${text}'' IN %s) > 0 LIMIT 1', table_schema, table_name,
      CASE data_type WHEN 'bytea' THEN format('encode(%I, ''escape'')', column_name)
        ELSE format('%I::text', column_name) END) AS search
    FROM information_schema.columns WHERE table_schema = '${schemaOf(url)}'`)
  const found: string[] = []
  for (const { name, search } of columns) {
    const rows = await databases.query(String(search))
    if (rows.length > 0) found.push(String(name).replace('evroute_', ''))
  }
  return withoutNaming(found)
}

/** Returns the columns that contain a text, except those of {@link namingTables}. */
export async function findInSqlite(path: string, text: string): Promise<readonly string[]> {
  const database = await openDatabase(path, 'read')
  try {
    const columns = database
      .prepare(
        `SELECT t.name AS "table", c.name AS "column" FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table'`,
      )
      .all() as { readonly table: string; readonly column: string }[]
    const found = columns.filter(({ table, column }) =>
      database
        .prepare(`SELECT 1 FROM "${table}" WHERE instr(CAST("${column}" AS TEXT), ?) LIMIT 1`)
        .get(text),
    )
    return withoutNaming(found.map(({ table, column }) => `${table}.${column}`))
  } finally {
    database.close()
  }
}

function withoutNaming(columns: readonly string[]): readonly string[] {
  return columns.filter((name) => !namingTables.some((table) => name.startsWith(`${table}.`)))
}
