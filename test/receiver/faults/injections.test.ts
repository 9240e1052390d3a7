import { expect, test } from 'vitest'
import { Injections } from '../../../src/receiver/faults/injections.ts'
import { parsePlan } from '../../../src/receiver/faults/read-plans.ts'
import { seededRandom } from '../../../src/receiver/faults/seeded-random.ts'

const webhook = { type: 'track', endpoint: 1 } as const
const settings = {
  respond: [],
  delay: { fromMs: 0, toMs: 0 },
  failShare: 0,
  failure: 500,
} as const

function sequence(...numbers: readonly number[]): () => number {
  const remaining = [...numbers]
  return () => remaining.shift() ?? 0.99
}

test('random failures use up no answer of the plan', () => {
  const injections = new Injections(
    { ...settings, respond: [parsePlan('503,429,200')], failShare: 0.2, failure: 'reset' },
    sequence(0.2, 0.19, 0.5, 0),
  )
  expect([1, 2, 3, 4].map(() => injections.nextAnswer(webhook).answer)).toEqual([
    503,
    'reset',
    429,
    'reset',
  ])
})

test('a failure share of 1 fails every request, and of 0 none', () => {
  expect(
    new Injections({ ...settings, failShare: 1 }, () => 0.999_999).nextAnswer(webhook).answer,
  ).toBe(500)
  expect(new Injections(settings, () => 0).nextAnswer(webhook).answer).toBe(200)
})

test('delays lie between the shortest and the longest, inclusive', () => {
  const injections = new Injections(
    { ...settings, delay: { fromMs: 1_000, toMs: 8_000 } },
    sequence(0, 0.5, 0.999_999),
  )
  expect([1, 2, 3].map(() => injections.nextDelayMs())).toEqual([1_000, 4_500, 8_000])
})

test('a seed reproduces its numbers, which are spread evenly', () => {
  const numbers = (seed: number): readonly number[] => {
    const random = seededRandom(seed)
    return Array.from({ length: 10_000 }, random)
  }
  expect(numbers(7)).toEqual(numbers(7))
  expect(numbers(7)).not.toEqual(numbers(8))
  const shares = [0.2, 0.5, 0.8].map((limit) => numbers(7).filter((each) => each < limit).length)
  for (const [index, expected] of [2_000, 5_000, 8_000].entries()) {
    expect(Math.abs(shares[index]! - expected)).toBeLessThan(200)
  }
  expect(numbers(7).every((each) => each >= 0 && each < 1)).toBe(true)
})
