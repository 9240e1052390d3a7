import { expect, test } from 'vitest'
import { joined, raw, sql } from '../../src/store/sql.ts'

test('a statement numbers its values, and contains its parts unchanged', () => {
  const { sql: text, values } =
    sql`SELECT ${raw('id')} FROM ${raw('rows')} WHERE a = ${'x'} AND b = ${2}`
  expect(text).toBe('SELECT id FROM rows WHERE a = $1 AND b = $2')
  expect(values).toEqual(['x', 2])
})

test('a part that occurs twice passes its values once, at any depth', () => {
  const user = sql`CAST(${'u_1'} AS text)`
  const { sql: text, values } = sql`SELECT ${user}, ${null}, (SELECT ${sql`lower(${user})`})`
  expect(text).toBe('SELECT CAST($1 AS text), $2, (SELECT lower(CAST($1 AS text)))')
  expect(values).toEqual(['u_1', null])
})

test('equal values are passed separately', () => {
  expect(sql`${1} ${1}`.values).toEqual([1, 1])
})

test('joined parts are separated by the text', () => {
  expect(joined(['a', 'b', 'c'], ', ').sql).toBe('$1, $2, $3')
  expect(joined([], ', ').sql).toBe('')
})
