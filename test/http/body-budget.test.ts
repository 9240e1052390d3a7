import { expect, test } from 'vitest'
import { BodyBudget } from '../../src/http/index.ts'

test('bodies hold no more together than the budget has, and give it back', () => {
  const budget = new BodyBudget(100)
  const [one, other] = [budget.share(), budget.share()]
  expect([one.take(60), other.take(41), other.take(30), one.take(11)]).toEqual([
    true,
    false,
    true,
    false,
  ])
  expect(budget.bytes).toBe(90)
  one.release()
  one.release()
  expect(budget.bytes).toBe(30)
  expect([other.take(70), one.take(1)]).toEqual([true, false])
  other.release()
  expect(budget.bytes).toBe(0)
})
