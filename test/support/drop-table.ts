import { busyTimeoutMs, openDatabase } from '../../src/store/sqlite/database.ts'

/** Drops a table of a store that is in use, on a second connection. Waits for a write in progress. */
export async function dropTable(path: string, table: 'seen' | 'requests'): Promise<void> {
  const database = await openDatabase(path)
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; DROP TABLE ${table}`)
  database.close()
}
