import { onTestFinished, test, expect } from 'vitest'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { rowsStatement, Statements } from '../../../src/store/sqlite/statements.ts'
import { newPath, withMethods } from './store-calls.ts'

async function tableOf() {
  const database = await openDatabase(await newPath())
  onTestFinished(() => database.close())
  database.exec('CREATE TABLE numbers (number INTEGER PRIMARY KEY, square INTEGER, sign TEXT)')
  const rows = () => database.prepare('SELECT * FROM numbers ORDER BY number').all()
  return { database, statements: new Statements(database), rows }
}

const insert = rowsStatement("(?, ?, '+')", (rows) => `INSERT OR FAIL INTO numbers VALUES ${rows}`)

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test.each([0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 200])('writes %i rows', async (count) => {
  const { statements, rows } = await tableOf()
  const numbers = numbersTo(count)
  const values = numbers.map((number) => [number, number ** 2])
  expect(statements.runRows(insert, values)).toBe(count)
  expect(rows()).toEqual(numbers.map((number) => ({ number, square: number ** 2, sign: '+' })))
})

test('returns the total number of rows that it changed', async () => {
  const { statements } = await tableOf()
  statements.runRows(
    insert,
    numbersTo(100).map((number) => [number, 0]),
  )
  const change = rowsStatement(
    '?',
    (numbers) =>
      `UPDATE OR FAIL numbers SET square = ? WHERE number IN (${numbers}) AND number % 10 = 0`,
  )
  const numberRows = numbersTo(150).map((number) => [number])
  expect(statements.runRows(change, numberRows, [7])).toBe(10)
  expect(statements.runRows(change, [], [7])).toBe(0)
})

test('compiles a text once, and keeps a bounded number of statements', async () => {
  const { database } = await tableOf()
  const compiled: string[] = []
  const statements = new Statements(
    withMethods(database, {
      prepare: (sql) => {
        compiled.push(sql)
        return database.prepare(sql)
      },
    }),
  )
  const sumWith = (number: number) =>
    statements.get({ sql: `SELECT ${number} + $1 AS sum FROM evroute_numbers`, values: [1] })
  statements.runRows(insert, [[0, 0]])
  expect([sumWith(1), sumWith(1)]).toEqual([{ sum: 2 }, { sum: 2 }])
  expect(compiled.slice(1)).toEqual(['SELECT 1 + ?1 AS sum FROM numbers'])
  for (const number of numbersTo(1_000)) sumWith(number)
  expect(compiled).toHaveLength(1_001)
  sumWith(1)
  expect(compiled).toHaveLength(1_002)
})
