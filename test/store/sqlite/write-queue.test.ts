import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/store/sqlite/database.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { WriteQueue } from '../../../src/store/sqlite/write-queue.ts'
import { newPath, withMethods } from './store-calls.ts'

interface Counted {
  readonly database: Database
  readonly statements: string[]
  readonly insert: (number: number) => number
  readonly numbers: () => readonly unknown[]
}

async function openCounted(): Promise<Counted> {
  const database = await openDatabase(await newPath())
  database.exec('CREATE TABLE numbers (number INTEGER)')
  const statements: string[] = []
  const counted = withMethods(database, {
    exec: (sql) => {
      statements.push(sql)
      database.exec(sql)
    },
  })
  const insert = database.prepare('INSERT INTO numbers VALUES (?)')
  const numbers = database.prepare('SELECT number FROM numbers')
  return {
    database: counted,
    statements,
    insert: (number) => Number(insert.run(number).changes),
    numbers: () => numbers.all().map((row) => (row as { number: number }).number),
  }
}

function failing(): never {
  throw new Error('no room')
}

test('work that arrives together is committed once', async () => {
  const { database, statements, insert } = await openCounted()
  const queue = new WriteQueue(database, [])
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, number) => queue.run(() => insert(number))),
  )
  expect(results).toEqual(Array(50).fill(1))
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT'])
  database.close()
})

test('work from the turns after a commit shares the next transaction', async () => {
  const { database, statements, insert } = await openCounted()
  const queue = new WriteQueue(database, [])
  await queue.run(() => insert(1))
  const second = queue.run(() => insert(2))
  await nextTurn()
  await Promise.all([second, queue.run(() => insert(3))])
  expect(statements).toEqual(['BEGIN IMMEDIATE', 'COMMIT', 'BEGIN IMMEDIATE', 'COMMIT'])
  database.close()
})

test('work that fails is rolled back, and other work in the same transaction is done', async () => {
  const { database, insert, numbers } = await openCounted()
  const calls: string[] = []
  const queue = new WriteQueue(database, [
    {
      beforeCommit: () => calls.push('save'),
      afterCommit: () => calls.push('commit'),
      afterRollback: () => calls.push('discard'),
    },
  ])
  const outcomes = await Promise.allSettled([
    queue.run(
      () => insert(1),
      () => calls.push('undo 1'),
    ),
    queue.run(() => {
      insert(2)
      failing()
    }),
    queue.run(() => insert(3)),
  ])
  expect(outcomes).toMatchObject([
    { status: 'fulfilled', value: 1 },
    { status: 'rejected', reason: { message: 'no room' } },
    { status: 'fulfilled', value: 1 },
  ])
  expect(numbers()).toEqual([1, 3])
  const together = ['discard', 'undo 1']
  expect(calls).toEqual([...together, 'save', 'commit', 'discard', 'save', 'commit'])
  await queue.idle()
  database.close()
})

test('a transaction that cannot begin is not tried again for each of its pieces of work', async () => {
  const { database, insert, numbers, statements } = await openCounted()
  const busy: Database = {
    ...database,
    exec: (sql) => {
      statements.push(sql)
      failing()
    },
  }
  const queue = new WriteQueue(busy, [])
  const outcomes = await Promise.allSettled([1, 2, 3].map((one) => queue.run(() => insert(one))))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(statements).toEqual(['BEGIN IMMEDIATE'])
  expect(numbers()).toEqual([])
  database.close()
})

test('answers are delivered before the guard continues', async () => {
  const { database, insert } = await openCounted()
  const order: string[] = []
  const guard = {
    afterAnswer: () => order.push('the guard continued'),
  }
  const queue = new WriteQueue(database, [guard])
  await queue.run(() => insert(1))
  // The moment at which a store's thread posts the answer to the main thread.
  process.nextTick(() => order.push('the answer was passed on'))
  await queue.idle()
  expect(order).toEqual(['the answer was passed on', 'the guard continued'])
  database.close()
})

test('an error of the guard after a commit rejects the work, and undoes it', async () => {
  const { database, insert } = await openCounted()
  const undone: number[] = []
  const guard = {
    afterCommit: () => {
      throw new Error('the file is gone')
    },
    afterAnswer: () => undone.push(-1),
  }
  const queue = new WriteQueue(database, [guard])
  const outcomes = await Promise.allSettled(
    [1, 2].map((one) =>
      queue.run(
        () => insert(one),
        () => undone.push(one),
      ),
    ),
  )
  const refused = { status: 'rejected', reason: { message: 'the file is gone' } }
  expect(outcomes).toMatchObject([refused, refused])
  expect(undone).toEqual([1, 2])
  database.close()
})
