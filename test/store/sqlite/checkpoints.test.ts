import { statSync } from 'node:fs'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { Checkpoints } from '../../../src/store/sqlite/checkpoints.ts'
import { openDatabase, type Database } from '../../../src/store/sqlite/database.ts'
import { newPath, withMethods } from './store-calls.ts'

const pageBytes = 4_096
const roomyLogBytes = 1_200 * (pageBytes + 24)

let path = ''
let database: Database
let checkpoints: Checkpoints
let checkpointCount = 0

beforeEach(async () => {
  path = await newPath()
  database = await openConnection()
  // These tests do not depend on the speed of the disk.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF')
  database.exec('CREATE TABLE texts (text TEXT)')
  checkpointCount = 0
  checkpoints = new Checkpoints(
    withMethods(database, {
      prepare: (sql) => {
        if (/PASSIVE|RESTART/.test(sql)) checkpointCount++
        return database.prepare(sql)
      },
    }),
  )
})

async function openConnection(): Promise<Database> {
  const connection = await openDatabase(path)
  onTestFinished(() => connection.close())
  return connection
}

/** Writes pages, each in its own transaction, and runs checkpoints when due. Returns their number. */
function write(pages: number): number {
  const insert = database.prepare('INSERT INTO texts VALUES (?)')
  const before = checkpointCount
  for (let page = 0; page < pages; page++) {
    insert.run('x'.repeat(pageBytes - 100))
    checkpoints.afterAnswer()
  }
  return checkpointCount - before
}

const logFileBytes = () => statSync(`${path}-wal`).size

test('copies nothing into the file until the log is long enough, then reuses the log', () => {
  const before = statSync(path).size
  expect(write(100)).toBe(0)
  expect(statSync(path).size).toBe(before)
  expect(write(10_000)).toBeGreaterThan(5)
  expect(statSync(path).size).toBeGreaterThan(9_000 * pageBytes)
  expect(logFileBytes()).toBeLessThan(roomyLogBytes)
})

test('keeps the log short while readers come and go', async () => {
  const reader = await openConnection()
  for (let turn = 0; turn < 20; turn++) {
    reader.exec('BEGIN; SELECT count(*) FROM texts')
    write(100)
    reader.exec('COMMIT')
    write(400)
  }
  expect(logFileBytes()).toBeLessThan(2 * roomyLogBytes)
})

test('lets the log grow while a reader stays, tries now and then, and reuses the log afterwards', async () => {
  const reader = await openConnection()
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM texts').get()
  expect(write(5_000)).toBeLessThan(20)
  expect(logFileBytes()).toBeGreaterThan(4 * roomyLogBytes)
  reader.exec('COMMIT')
  write(1_200)
  const grown = logFileBytes()
  write(3_000)
  expect(logFileBytes()).toBe(grown)
})

test('waits for readers once the log is long, and does not wait again soon', async () => {
  const reader = await openConnection()
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM texts').get()
  const statements: string[] = []
  const watched = withMethods(database, {
    exec: (sql) => {
      statements.push(sql)
      database.exec(sql)
    },
  })
  checkpoints = new Checkpoints(watched)
  const insert = database.prepare('INSERT INTO texts VALUES (?)')
  const fill = (pages: number): void => {
    database.exec('BEGIN')
    for (let page = 0; page < pages; page++) insert.run('x'.repeat(pageBytes - 100))
    database.exec('COMMIT')
  }
  fill(16_500)
  checkpoints.afterAnswer()
  checkpoints.afterAnswer()
  fill(3_000)
  checkpoints.afterAnswer()
  expect(statements.slice(1)).toEqual(['PRAGMA busy_timeout = 200', 'PRAGMA busy_timeout = 5000'])
})
