import { describe, expect, test } from 'vitest'
import { liftIntegrations, mergeBatch, type JsonObject } from '../../src/model/index.ts'

describe('mergeBatch', () => {
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

  test('keeps an opt-out that a call has in its context', () => {
    const call = { context: { integrations: { Webhooks: false }, ip: '::1' } }
    expect(mergeBatch(call, { integrations: { Slack: true, Webhooks: true } })).toEqual({
      context: { ip: '::1' },
      integrations: { Slack: true, Webhooks: false },
    })
  })

  test('takes integrations from the context of the batch where it has no others', () => {
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
    'gives what is shared to a call with %j',
    (call) => {
      const batch = { context: { ip: 'x' }, integrations: { All: false } }
      expect(mergeBatch(call, batch)).toEqual(batch)
      expect(mergeBatch(call, {})).toEqual(call)
    },
  )

  test('leaves what is no object to the check of the call', () => {
    const call = { context: 'x', integrations: [1] }
    expect(mergeBatch(call, { context: { a: 1 }, integrations: { B: true } })).toEqual(call)
  })

  test('takes __proto__ for plain data', () => {
    const call = JSON.parse('{"context":{"__proto__":{"a":1}}}') as JsonObject
    const merged = mergeBatch(call, { context: { ip: 'x' } })
    expect(JSON.stringify(merged)).toBe('{"context":{"ip":"x","__proto__":{"a":1}}}')
  })
})

describe('liftIntegrations', () => {
  test('gives a call without nested integrations back as it is', () => {
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
  ])('makes of %j %j', (call, lifted) => {
    expect(liftIntegrations(call)).toEqual(lifted)
  })
})
