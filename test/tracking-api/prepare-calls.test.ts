import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { prepareCalls, type PreparedCalls } from '../../src/tracking-api/prepare-calls.ts'

const server = { ip: '203.0.113.7', userAgent: 'Example/1.0', isBrowser: false }

function prepared(calls: readonly unknown[], context: JsonObject): PreparedCalls {
  const given = { kind: 'calls', calls, defaults: { context }, sentAt: null } as const
  return prepareCalls(given, { bodyBytes: 1_000, client: server })
}

test('calls without a context of their own share the context of their batch', () => {
  const call = { type: 'track', userId: 'user-1', event: 'Ping' }
  const context = { app: { name: 'Example' } }
  const contexts = prepared([call, call, call], context).calls.map(
    (one) => (one as JsonObject)['context'],
  )
  expect(contexts).toEqual([context, context, context])
  expect(new Set(contexts).size).toBe(1)
})

test('batch defaults are merged only into calls that intake accepts without them', () => {
  const calls = [7, {}, { type: 'track', event: 'Ping' }, { type: 'page', userId: 'u', context: 1 }]
  const context = new Proxy<JsonObject>(
    { app: 'Example' },
    {
      ownKeys: () => {
        throw new Error('It is read')
      },
    },
  )
  const { calls: ready, sent } = prepared(calls, context)
  expect(ready).toEqual(calls)
  for (const [position, { index }] of sent.entries()) expect(ready[position]).toBe(calls[index])
})

test('a call reports its type once it is checked, and an invalid one reports none', () => {
  const calls = [{ type: 'page', userId: 'u' }, { type: 'track', userId: 'u' }, 7]
  expect(prepared(calls, {}).checkedTypes).toEqual(['page', undefined, undefined])
})

test('a call without additions is passed on unchanged', () => {
  const call = { type: 'track', userId: 'user-1', event: 'Ping', context: {} }
  const given = { kind: 'calls', calls: [call], defaults: {}, sentAt: null } as const
  const { calls } = prepareCalls(given, { bodyBytes: 1_000, client: server })
  expect(calls[0]).toBe(call)
})

describe('in a long body', () => {
  const indexesTooLarge = (...calls: unknown[]) => {
    const given = { kind: 'calls', calls, defaults: {}, sentAt: null } as const
    const { tooLarge } = prepareCalls(given, { bodyBytes: 500_000, client: server })
    return tooLarge.map(({ index }) => index)
  }

  test.each([
    ['ASCII', 'x', 1],
    ['letters of two bytes', 'ü', 2],
    ['characters of three bytes', '€', 3],
    ['characters of two code units', '😀', 4],
    ['characters that are escaped', '\u0001', 6],
    ['halves of pairs, which are escaped', '\ud800', 6],
  ])('a call of %s may have exactly 32 KB in values and keys', (_name, letter, bytes) => {
    const ofBytes = (length: number, [before, after]: readonly [string, string]) => {
      const rest = length - before.length - after.length
      const text = letter.repeat(rest / bytes) + 'x'.repeat(rest % bytes)
      return JSON.parse(before + JSON.stringify(text).slice(1, -1) + after) as unknown
    }
    const start = '{"type":"track","userId":"u","event":"'
    for (const around of [
      [start, '"}'],
      [`${start}E","properties":{"`, '":[1]}}'],
    ] as const) {
      const calls = [ofBytes(32_768, around), ofBytes(32_769, around)]
      expect(calls.map((call) => Buffer.byteLength(JSON.stringify(call)))).toEqual([32_768, 32_769])
      expect(indexesTooLarge(...calls)).toEqual([1])
    }
  })

  test.each<[string, unknown]>([
    ['many short members', Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [i, 0]))],
    ['many numbers', Array.from({ length: 1_500 }, () => -1.2345678901234567e-300)],
    ['many objects', Array.from({ length: 12_000 }, () => ({}))],
  ])('a call with %s is too large', (_name, items) => {
    const call = { type: 'track', userId: 'u', event: 'E' }
    expect(indexesTooLarge(call, { ...call, properties: { items } }, call)).toEqual([1])
  })

  test('a call nested deeper than intake accepts is passed on for intake to refuse', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
    expect(
      indexesTooLarge({ type: 'track', userId: 'u', event: 'E', properties: { deep } }),
    ).toEqual([])
  })

  test('a small call is not serialised to be measured', () => {
    const unwritable = {
      toJSON: () => {
        throw new Error('It is written')
      },
    }
    const call = { type: 'track', userId: 'u', event: 'E', properties: { unwritable } }
    expect(indexesTooLarge(call)).toEqual([])
  })
})
