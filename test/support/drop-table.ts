import { busyTimeoutMs, openDatabase } from '../../src/store/sqlite/database.ts'

/** Spoils a store from beside whoever uses it, and waits for what that writes. */
export async function dropTable(path: string, table: 'seen' | 'requests'): Promise<void> {
  const database = await openDatabase(path)
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}; DROP TABLE ${table}`)
  database.close()
}
