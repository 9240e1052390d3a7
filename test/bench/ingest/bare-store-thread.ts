// Writes rows. A transaction holds those that arrived during the previous one.
import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase } from '../../../dist/store/sqlite/database.js'

export interface StoredCalls {
  /** The number of the request, from 1. */
  readonly id: number
  /** The calls as NDJSON. */
  readonly text: string
}

const database = await openDatabase(workerData as string)
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE requests (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT`)
const add = database.prepare('INSERT INTO requests (id, text) VALUES (?, ?)')
let waiting: StoredCalls[] = []

parentPort?.on('message', (calls: StoredCalls) => {
  waiting.push(calls)
  if (waiting.length === 1) setImmediate(commit)
})

function commit(): void {
  const rows = waiting
  waiting = []
  database.exec('BEGIN IMMEDIATE')
  for (const { id, text } of rows) add.run(id, text)
  database.exec('COMMIT')
  parentPort?.postMessage(rows.map(({ id }) => id))
}
