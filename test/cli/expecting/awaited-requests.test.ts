import { describe, expect, test } from 'vitest'
import { AwaitedRequests } from '../../../src/cli/expecting/awaited-requests.ts'
import { parseExpectation, type NumberedSubject } from '../../../src/match/index.ts'

const atMs = Date.UTC(2026, 0, 2)

function event(type: string, seq: number): NumberedSubject {
  return { seq, atMs, body: { type }, signature: 'valid', status: 200, path: '/', bytes: 1 }
}

function awaited(expectations: readonly string[], ...types: readonly string[]): AwaitedRequests {
  const all = new AwaitedRequests(
    expectations.map((text) => parseExpectation(text)),
    atMs,
  )
  for (const [index, type] of types.entries()) all.observe(event(type, index + 1))
  return all
}

describe('AwaitedRequests', () => {
  test.each([
    ['decided', [], []],
    ['missing', ['type:track'], []],
    ['missing', ['type:track', 'type:page never'], ['identify']],
    ['missing', ['type:track x2'], ['track']],
    ['decided', ['type:track'], ['track']],
    ['satisfied', ['type:track', 'type:page never'], ['track']],
    ['satisfied', ['type:track x1'], ['track']],
    ['decided', ['type:track x1'], ['track', 'track']],
  ] as const)('is %s: %j after %j', (state, expectations, types) => {
    expect(awaited(expectations, ...types).stateAt(atMs)).toBe(state)
  })

  test('is decided when its time is over', () => {
    const all = awaited(['type:track x2 within 1s'], 'track')
    expect(all.stateAt(atMs + 1_000)).toBe('missing')
    expect(all.stateAt(atMs + 1_001)).toBe('decided')
    expect(all.results()).toMatchObject([{ state: 'unmet', matched: 1 }])
  })
})
