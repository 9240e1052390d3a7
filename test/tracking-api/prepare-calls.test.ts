import { expect, test } from 'vitest'
import type { JsonObject } from '../../src/model/index.ts'
import { prepareCalls, type PreparedCall } from '../../src/tracking-api/prepare-calls.ts'

const server = { ip: '203.0.113.7', userAgent: 'Example/1.0', isBrowser: false }

function prepared(calls: readonly unknown[], context: JsonObject): readonly PreparedCall[] {
  const given = { kind: 'calls', calls, defaults: { context }, sentAt: null } as const
  return prepareCalls(given, { bodyBytes: 1_000, client: server }).ready
}

test('calls that say nothing of their own share the context of their batch', () => {
  const call = { type: 'track', userId: 'user-1', event: 'Ping' }
  const context = { app: { name: 'Example' } }
  const contexts = prepared([call, call, call], context).map(
    (one) => (one.call as JsonObject)['context'],
  )
  expect(contexts).toEqual([context, context, context])
  expect(new Set(contexts).size).toBe(1)
})

test('under what intake refuses nothing is put', () => {
  const calls = [7, {}, { type: 'track', event: 'Ping' }, { type: 'page', userId: 'u', context: 1 }]
  const context = new Proxy<JsonObject>(
    { app: 'Example' },
    {
      ownKeys: () => {
        throw new Error('It is read')
      },
    },
  )
  const ready = prepared(calls, context)
  expect(ready.map(({ call }) => call)).toEqual(calls)
  for (const { call, index } of ready) expect(call).toBe(calls[index])
})
