import { expect, test } from 'vitest'
import { progressFormat } from '../../../src/cli/migrating/migrate.ts'

test('shows the progress of a migration, with the current rate', () => {
  let elapsedMs = 0
  const format = progressFormat(() => elapsedMs)
  const update = (title: string, rows: number): string => format({ title, rows, rowsAll: 200_000 })
  expect(update('bodies', 100_000)).toBe('moving bodies: 100,000 of 200,000')
  elapsedMs = 2_000
  expect(update('bodies', 120_000)).toBe('moving bodies: 120,000 of 200,000 · 10,000/s')
  expect(update('deliveries', 2_000)).toBe('moving deliveries: 2,000 of 200,000')
})
