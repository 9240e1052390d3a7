import { onTestFinished, test, expect } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { RowsStatement } from '../../../src/store/sqlite/rows-statement.ts'
import { newPath } from './store-calls.ts'

async function tableOf() {
  const database = await openDatabase(await newPath())
  onTestFinished(() => database.close())
  database.exec('CREATE TABLE numbers (number INTEGER PRIMARY KEY, square INTEGER, sign TEXT)')
  const insert = new RowsStatement(
    database,
    "(?, ?, '+')",
    (rows) => `INSERT OR FAIL INTO numbers VALUES ${rows}`,
  )
  const rows = () => database.prepare('SELECT * FROM numbers ORDER BY number').all()
  return { database, insert, rows }
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test.each([0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 200])('writes %i rows', async (count) => {
  const { insert, rows } = await tableOf()
  const numbers = numbersTo(count)
  expect(insert.run(numbers.flatMap((number) => [number, number ** 2]))).toBe(count)
  expect(rows()).toEqual(numbers.map((number) => ({ number, square: number ** 2, sign: '+' })))
})

test('reports how many rows it changed over all', async () => {
  const { database, insert } = await tableOf()
  insert.run(numbersTo(100).flatMap((number) => [number, 0]))
  const change = new RowsStatement(
    database,
    '?',
    (numbers) =>
      `UPDATE OR FAIL numbers SET square = ? WHERE number IN (${numbers}) AND number % 10 = 0`,
  )
  expect(change.run(numbersTo(150), [7])).toBe(10)
  expect(change.run([], [7])).toBe(0)
})
