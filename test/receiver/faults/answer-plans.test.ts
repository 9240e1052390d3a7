import { describe, expect, test } from 'vitest'
import { AnswerPlans, answerAt, planFor } from '../../../src/receiver/faults/plan.ts'
import { parsePlan } from '../../../src/receiver/faults/read-plans.ts'

describe('the answers of one plan', () => {
  test('are given in turn, and the last one is repeated', () => {
    const plan = parsePlan('resetx2,503,200')
    expect([0, 1, 2, 3, 4, 1_000_000].map((given) => answerAt(plan, given))).toEqual([
      'reset',
      'reset',
      503,
      200,
      200,
      200,
    ])
  })

  test('repeat the last answer even beyond its count', () => {
    expect(answerAt(parsePlan('503x2'), 2)).toBe(503)
  })
})

describe('with several plans', () => {
  const all = parsePlan('500')
  const second = parsePlan('endpoint=2:501')
  const track = parsePlan('type=track:502')
  const both = parsePlan('type=track:endpoint=2:503')

  test.each([
    { type: 'track', endpoint: 2, plan: both },
    { type: 'track', endpoint: 1, plan: track },
    { type: 'page', endpoint: 2, plan: second },
    { type: 'page', endpoint: 1, plan: all },
  ] as const)('the most specific plan is used: $type to $endpoint', ({ plan, ...webhook }) => {
    expect(planFor([all, second, track, both], webhook)).toBe(plan)
    expect(planFor([both, track, second, all], webhook)).toBe(plan)
  })

  test('a plan for a type takes precedence over one for an endpoint', () => {
    const webhook = { type: 'track', endpoint: 2 } as const
    expect(planFor([second, track], webhook)).toBe(track)
    expect(planFor([track, second], webhook)).toBe(track)
  })

  test('no plan applies to a request that matches none', () => {
    expect(planFor([second, track], { type: 'page', endpoint: 1 })).toBeUndefined()
  })

  test('each plan counts its own answers', () => {
    const plans = new AnswerPlans([parsePlan('503,200'), parsePlan('type=track:500,201')])
    const types = ['track', 'page', 'page', 'track', 'page'] as const
    expect(types.map((type) => plans.next({ type, endpoint: 1 }))).toEqual([
      500, 503, 200, 201, 200,
    ])
  })
})
