import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnalyticsEvent, EventType, JsonObject } from '../../src/model/index.ts'
import { buildWebhookBody } from '../../src/webhook/index.ts'

const timestamp = '2026-01-02T03:04:05.678Z'

function event(type: EventType, fields: Partial<AnalyticsEvent> = {}): AnalyticsEvent {
  return {
    messageId: 'm_1',
    type,
    sourceId: 'website',
    receivedAtMs: 0,
    timestamp,
    historical: false,
    context: { ip: '192.0.2.1' },
    integrations: { All: true },
    ...fields,
  }
}

const tail = `"context":{"ip":"192.0.2.1"},"timestamp":"${timestamp}","messageId":"m_1"}`

describe('buildWebhookBody', () => {
  test.each([
    {
      name: 'identify',
      given: event('identify', { traits: { plan: 'pro', logins: 3 }, userId: 'u_1' }),
      text: `{"version":1,"type":"identify","userId":"u_1","traits":{"plan":"pro","logins":3},${tail}`,
    },
    {
      name: 'track',
      given: event('track', {
        properties: { revenue: '39.95' },
        event: 'Order Completed',
        anonymousId: 'a_1',
        userId: 'u_1',
      }),
      text: `{"version":1,"type":"track","userId":"u_1","anonymousId":"a_1","event":"Order Completed","properties":{"revenue":"39.95"},${tail}`,
    },
    {
      name: 'page',
      given: event('page', {
        properties: { path: '/', url: 'https://example.com/' },
        category: 'Docs',
        name: 'Home',
        userId: 'u_1',
      }),
      text: `{"version":1,"type":"page","userId":"u_1","name":"Home","category":"Docs","properties":{"path":"/","url":"https://example.com/"},${tail}`,
    },
    {
      name: 'screen',
      given: event('screen', {
        properties: { tab: 2 },
        category: 'App',
        name: 'Feed',
        userId: 'u',
      }),
      text: `{"version":1,"type":"screen","userId":"u","name":"Feed","category":"App","properties":{"tab":2},${tail}`,
    },
    {
      name: 'group',
      given: event('group', { traits: { 'total seats': 12 }, groupId: 'g_1', userId: 'u_1' }),
      text: `{"version":1,"type":"group","userId":"u_1","groupId":"g_1","traits":{"total seats":12},${tail}`,
    },
    {
      name: 'alias',
      given: event('alias', { userId: 'u_1', previousId: 'a_1' }),
      text: `{"version":1,"type":"alias","Previous ID":"a_1","User ID":"u_1",${tail}`,
    },
    {
      name: 'delete',
      given: event('delete', { userId: 'u_1' }),
      text: `{"type":"delete","userId":"u_1","timestamp":"${timestamp}"}`,
    },
  ])('writes $name with its keys in a fixed order', ({ given, text }) => {
    expect(buildWebhookBody(given, 'spec')).toBe(text)
  })

  test.each(['identify', 'track', 'page', 'screen', 'group'] as const)(
    'leaves out fields of %s that the event does not have',
    (type) => {
      const given = event(type, { anonymousId: 'a_1' })
      const text = `{"version":1,"type":"${type}","anonymousId":"a_1",${tail}`
      expect(buildWebhookBody(given, 'spec')).toBe(text)
    },
  )

  test('leaves out the fields of other types', () => {
    const all = event('identify', {
      userId: 'u_1',
      previousId: 'p_1',
      groupId: 'g_1',
      event: 'Ping',
      name: 'Home',
      category: 'Docs',
      properties: {},
      traits: {},
    })
    const keysOf = (type: EventType): readonly string[] =>
      Object.keys(JSON.parse(buildWebhookBody({ ...all, type }, 'spec')) as object)
    expect(keysOf('identify').slice(2, -3)).toEqual(['userId', 'traits'])
    expect(keysOf('track').slice(2, -3)).toEqual(['userId', 'event', 'properties'])
    expect(keysOf('page').slice(2, -3)).toEqual(['userId', 'name', 'category', 'properties'])
    expect(keysOf('screen').slice(2, -3)).toEqual(['userId', 'name', 'category', 'properties'])
    expect(keysOf('group').slice(2, -3)).toEqual(['userId', 'groupId', 'traits'])
    expect(keysOf('alias').slice(2, -3)).toEqual(['Previous ID', 'User ID'])
    expect(keysOf('delete')).toEqual(['type', 'userId', 'timestamp'])
  })

  test.each([
    { aliasKeys: 'spec', ids: '"Previous ID":"a_1","User ID":"u_1"' },
    { aliasKeys: 'camel', ids: '"previousId":"a_1","userId":"u_1"' },
    {
      aliasKeys: 'both',
      ids: '"Previous ID":"a_1","User ID":"u_1","previousId":"a_1","userId":"u_1"',
    },
  ] as const)('names the ids of an alias by aliasKeys $aliasKeys', ({ aliasKeys, ids }) => {
    const given = event('alias', { userId: 'u_1', previousId: 'a_1' })
    expect(buildWebhookBody(given, aliasKeys)).toBe(`{"version":1,"type":"alias",${ids},${tail}`)
  })

  test('produces bytes that stay the same when a receiver parses and stringifies them', () => {
    const object = fc.json().map((text) => ({ value: JSON.parse(text) as JsonObject }))
    const property = fc.property(object, fc.string({ unit: 'binary' }), (properties, name) => {
      const given = event('track', { userId: 'u_1', event: name, properties, context: properties })
      const text = buildWebhookBody(given, 'spec')
      expect(JSON.stringify(JSON.parse(text))).toBe(text)
    })
    fc.assert(property)
  })

  test('keeps keys like __proto__ as plain data', () => {
    const properties = JSON.parse('{"2":"b","1":"a","__proto__":{"x":1},"zero":-0}') as JsonObject
    const text = buildWebhookBody(event('track', { properties }), 'spec')
    expect(text).toContain('"properties":{"1":"a","2":"b","__proto__":{"x":1},"zero":0}')
  })
})
