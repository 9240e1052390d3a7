import { readFile, writeFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { openDatabase } from '../../../src/store/sqlite/database.ts'

/**
 * Writes a file of format 8, the oldest that can be upgraded. A process of that version created it. It has
 * deliveries, an audience, and an erasure in progress.
 */
export async function makeOlderStore(path: string): Promise<void> {
  const packed = await readFile(new URL('version-8.db.gz', import.meta.url))
  await writeFile(path, gunzipSync(packed))
}

/** Returns all rows that a statement reads from a file. */
export async function rowsOf(path: string, sql: string): Promise<readonly unknown[]> {
  const database = await openDatabase(path, 'read')
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}
