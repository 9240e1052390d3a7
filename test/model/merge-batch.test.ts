import { describe, expect, test } from 'vitest'
import {
  batchDefaultsBytes,
  batchMerger,
  liftIntegrations,
  type BatchDefaults,
  type JsonObject,
} from '../../src/model/index.ts'

const mergeBatch = (call: JsonObject, batch: BatchDefaults) => batchMerger(batch)(call)

describe('batchMerger', () => {
  test('lets a call win key by key, at the top level only', () => {
    const call = {
      type: 'track',
      context: { ip: '::1', page: { a: 1 } },
      integrations: { A: false },
    }
    const batch = {
      context: { ip: 'x', page: { b: 2 }, os: 'y' },
      integrations: { A: true, B: true },
    }
    expect(mergeBatch(call, batch)).toEqual({
      type: 'track',
      context: { ip: '::1', page: { a: 1 }, os: 'y' },
      integrations: { A: false, B: true },
    })
  })

  test('keeps an opt-out in the context of a call', () => {
    const call = { context: { integrations: { Webhooks: false }, ip: '::1' } }
    expect(mergeBatch(call, { integrations: { Slack: true, Webhooks: true } })).toEqual({
      context: { ip: '::1' },
      integrations: { Slack: true, Webhooks: false },
    })
  })

  test('uses integrations in the context of the batch if the batch has no others', () => {
    const context = { integrations: { Webhooks: false } }
    expect(mergeBatch({ integrations: { Slack: true } }, { context })).toEqual({
      context: {},
      integrations: { Webhooks: false, Slack: true },
    })
    expect(mergeBatch({}, { context, integrations: { Slack: false } })).toEqual({
      context: {},
      integrations: { Slack: false },
    })
  })

  test.each<JsonObject>([{}, { context: null, integrations: null }])(
    'adds the defaults to a call with %j',
    (call) => {
      const batch = { context: { ip: 'x' }, integrations: { All: false } }
      expect(mergeBatch(call, batch)).toEqual(batch)
      expect(mergeBatch(call, {})).toEqual(call)
    },
  )

  test('does not merge into a field that is not an object, which the check of the call refuses', () => {
    const call = { context: 'x', integrations: [1] }
    expect(mergeBatch(call, { context: { a: 1 }, integrations: { B: true } })).toEqual(call)
  })

  test('returns the same call if there is nothing to merge', () => {
    const call = { type: 'track', context: { ip: '::1' }, integrations: null }
    expect(mergeBatch(call, {})).toBe(call)
    expect(mergeBatch({ context: 'x' }, { context: { ip: '::1' } })).toEqual({ context: 'x' })
  })

  test('treats __proto__ as plain data', () => {
    const call = JSON.parse('{"context":{"__proto__":{"a":1}}}') as JsonObject
    const merged = mergeBatch(call, { context: { ip: 'x' } })
    expect(JSON.stringify(merged)).toBe('{"context":{"ip":"x","__proto__":{"a":1}}}')
  })
})

test('the defaults of a batch are read once, and shared by all calls without a context', () => {
  const page = { path: '/' }
  let reads = 0
  const counting: ProxyHandler<JsonObject> = {
    ownKeys: (target) => {
      reads++
      return Reflect.ownKeys(target)
    },
  }
  const context = new Proxy<JsonObject>({ page, integrations: { All: false } }, counting)
  const merge = batchMerger({ context })
  const merged = Array.from({ length: 100 }, () => merge({ type: 'track' }))
  expect(reads).toBe(1)
  for (const call of merged) {
    expect(call['context']).toBe(merged[0]?.['context'])
    expect(call['integrations']).toBe(merged[0]?.['integrations'])
  }
  expect(merge({ context: { ip: '::1' } })['context']).toHaveProperty('page', page)
  expect((merge({ context: { ip: '::1' } })['context'] as JsonObject)['page']).toBe(page)
})

test.each<[number, BatchDefaults]>([
  [0, {}],
  [12, { context: { a: 'ü' }, integrations: {} }],
  [20, { context: { a: 'ü' }, integrations: { B: 'ü' } }],
])('the defaults have %i bytes in the batch %j', (bytes, batch) => {
  expect(batchDefaultsBytes(batch)).toBe(bytes)
})

describe('liftIntegrations', () => {
  test('returns the same call if it has no nested integrations', () => {
    for (const call of [
      {},
      { context: 'x' },
      { context: { ip: 'x' }, integrations: { A: true } },
    ]) {
      expect(liftIntegrations(call)).toBe(call)
    }
  })

  test.each<[JsonObject, JsonObject]>([
    [{ context: { integrations: { A: false } } }, { context: {}, integrations: { A: false } }],
    [
      { context: { integrations: { A: false } }, integrations: null },
      { context: {}, integrations: { A: false } },
    ],
    [
      { context: { integrations: { A: false } }, integrations: {} },
      { context: {}, integrations: {} },
    ],
    [{ context: { integrations: 'x', ip: 'y' } }, { context: { ip: 'y' } }],
  ])('turns %j into %j', (call, lifted) => {
    expect(liftIntegrations(call)).toEqual(lifted)
  })
})
