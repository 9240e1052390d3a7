import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/store/sqlite/database.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { WriteQueue } from '../../../src/store/sqlite/write-queue.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const companion = { save: () => undefined, discard: () => undefined }

async function openCounted(): Promise<{ database: Database; statements: string[] }> {
  const database = await openDatabase(join(await temporaryFolder(), 'queue.db'))
  database.exec('CREATE TABLE numbers (number INTEGER)')
  const statements: string[] = []
  const counted: Database = {
    exec: (sql) => {
      statements.push(sql)
      database.exec(sql)
    },
    prepare: (sql) => database.prepare(sql),
    close: () => database.close(),
  }
  return { database: counted, statements }
}

test('what arrives together is committed once', async () => {
  const { database, statements } = await openCounted()
  const insert = database.prepare('INSERT INTO numbers VALUES (?)')
  const queue = new WriteQueue(database, companion)
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, number) => queue.run(() => insert.run(number).changes)),
  )
  expect(results).toEqual(Array(50).fill(1))
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
  database.close()
})

test('a transaction that fails fails for all in it, is undone, and the next one works', async () => {
  const { database } = await openCounted()
  const insert = database.prepare('INSERT INTO numbers VALUES (?)')
  const discarded: string[] = []
  const queue = new WriteQueue(database, { ...companion, discard: () => discarded.push('once') })
  const outcomes = await Promise.allSettled([
    queue.run(() => insert.run(1)),
    queue.run(() => {
      throw new Error('no room')
    }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(discarded).toEqual(['once'])
  await queue.run(() => insert.run(2))
  expect(database.prepare('SELECT number FROM numbers').all()).toEqual([{ number: 2 }])
  await queue.idle()
  database.close()
})
