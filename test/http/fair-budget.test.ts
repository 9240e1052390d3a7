import { expect, test } from 'vitest'
import { FairBudget } from '../../src/http/index.ts'

test('a client can hold as much as stays free for others, and releases it', () => {
  const budget = new FairBudget(100)
  const [one, same] = [budget.share('a'), budget.share('a')]
  expect([one.take(40), same.take(11), same.take(10)]).toEqual([true, false, true])
  expect(budget.held).toBe(50)
  one.release()
  one.release()
  expect(budget.held).toBe(10)
  same.release()
  expect(budget.held).toBe(0)
})

test('a client that takes all it can leaves room for each later client', () => {
  const budget = new FairBudget(64_000)
  const clients = ['a', 'b', 'c', 'd']
  for (const client of clients) while (budget.share(client).take(1_000));
  expect(budget.share('e').take(1_000)).toBe(true)
})
