import { describe, expect, test } from 'vitest'
import { prepareCall } from '../../src/client/prepare-call.ts'
import { evrouteVersion, limits, type CallType } from '../../src/model/index.ts'
import { manualRuntime } from './support.ts'

const library = { name: 'evroute', version: evrouteVersion }
const now = '2026-01-02T03:04:05.678Z'

function prepare(value: unknown, type?: CallType) {
  return prepareCall(value, type, manualRuntime())
}

function sent(value: unknown, type?: CallType): unknown {
  const prepared = prepare(value, type)
  if (prepared.kind === 'refused') throw new Error(prepared.message)
  expect(prepared.call.bytes).toBe(Buffer.byteLength(prepared.call.json))
  return JSON.parse(prepared.call.json)
}

describe('prepareCall of an imported row', () => {
  const row = { type: 'track', userId: 'user-1', event: 'E' }

  test('keeps originalTimestamp, which other clients send instead of timestamp', () => {
    const originalTimestamp = '2025-12-24T18:00:00.000Z'
    const call = sent({ ...row, originalTimestamp })
    expect(call).toMatchObject({ originalTimestamp })
    expect(call).not.toHaveProperty('timestamp')
  })

  test('drops the sentAt of the earlier request', () => {
    expect(sent({ ...row, sentAt: '2025-12-24T18:00:01.000Z' })).not.toHaveProperty('sentAt')
  })

  test('turns numeric ids into text, and refuses rounded ones', () => {
    expect(sent({ ...row, userId: 42 })).toMatchObject({ userId: '42' })
    expect(prepare({ ...row, userId: 2 ** 60 })).toMatchObject({
      kind: 'refused',
      code: 'wrong_type',
    })
  })
})

describe('prepareCall', () => {
  test.each<[CallType, object, object]>([
    [
      'identify',
      { userId: 'user-1', traits: { plan: 'free', logins: 5 } },
      { type: 'identify', userId: 'user-1', traits: { plan: 'free', logins: 5 } },
    ],
    [
      'track',
      { anonymousId: 'anonymous-1', event: 'Order Completed', properties: { revenue: '39.95' } },
      {
        type: 'track',
        anonymousId: 'anonymous-1',
        event: 'Order Completed',
        properties: { revenue: '39.95' },
      },
    ],
    [
      'page',
      { userId: 'user-1', category: 'Docs', name: 'Go', properties: { path: '/go' } },
      { type: 'page', userId: 'user-1', category: 'Docs', name: 'Go', properties: { path: '/go' } },
    ],
    [
      'screen',
      { userId: 'user-1', name: 'Home', properties: { tab: 1 } },
      { type: 'screen', userId: 'user-1', name: 'Home', properties: { tab: 1 } },
    ],
    [
      'group',
      { userId: 'user-1', groupId: 'group-1', traits: { 'total billed': 830 } },
      { type: 'group', userId: 'user-1', groupId: 'group-1', traits: { 'total billed': 830 } },
    ],
    [
      'alias',
      { previousId: 'anonymous-1', userId: 'user-1' },
      { type: 'alias', previousId: 'anonymous-1', userId: 'user-1' },
    ],
  ])('completes %s', (type, given, expected) => {
    const completed = { ...expected, messageId: 'id-1', timestamp: now, context: { library } }
    expect(sent(given, type)).toEqual(completed)
    expect(sent({ ...given, type })).toEqual(completed)
  })

  test('keeps messageId, timestamp, context, integrations and unknown fields', () => {
    const given = {
      type: 'track',
      userId: 'user-1',
      event: 'E',
      messageId: 'message-1',
      timestamp: '2012-12-02T00:30:08.276+0000',
      context: { ip: '192.0.2.1', library: { name: 'other', version: '9' } },
      integrations: { All: false, Webhooks: true },
      channel: 'server',
    }
    expect(sent(given)).toEqual(given)
  })

  test("adds the library to a context that has none, without changing the caller's object", () => {
    const call = Object.freeze({ userId: 'user-1', context: Object.freeze({ ip: '192.0.2.1' }) })
    expect(sent(call, 'identify')).toMatchObject({ context: { ip: '192.0.2.1', library } })
    expect(sent({ ...call, context: null }, 'identify')).toMatchObject({ context: { library } })
  })

  test('writes a Date as ISO 8601, and refuses a timestamp that cannot be read', () => {
    const call = { userId: 'user-1', timestamp: new Date(0) }
    expect(sent(call, 'identify')).toMatchObject({ timestamp: '1970-01-01T00:00:00.000Z' })
    for (const timestamp of [
      new Date(NaN),
      new Date('+010000-01-01T00:00:00.000Z'),
      'yesterday',
      '01/02/2024',
      '1704067200',
      1_704_067_200,
      { value: '2024-01-01' },
      true,
    ]) {
      expect(prepare({ ...call, timestamp }, 'identify')).toEqual({
        kind: 'refused',
        code: 'wrong_type',
        message: 'timestamp must be a Date or an ISO 8601 string',
      })
    }
    expect(sent({ ...call, timestamp: null }, 'identify')).toMatchObject({ timestamp: now })
  })

  test('drops absent ids, turns numbers into text, and replaces an empty messageId', () => {
    const call = { userId: 42, anonymousId: null, groupId: '', messageId: '', event: 'E' }
    expect(sent(call, 'track')).toEqual({
      type: 'track',
      userId: '42',
      event: 'E',
      messageId: 'id-1',
      timestamp: now,
      context: { library },
    })
  })

  test('sends the traits of a page as properties, which take precedence', () => {
    const call = {
      userId: 'user-1',
      traits: { path: '/a', title: 'A' },
      properties: { path: '/b' },
    }
    const page = sent(call, 'page')
    expect(page).toMatchObject({ properties: { path: '/b', title: 'A' } })
    expect(page).not.toHaveProperty('traits')
    expect(sent({ userId: 'user-1', traits: { path: '/a' } }, 'page')).toMatchObject({
      properties: { path: '/a' },
    })
    expect(sent(call, 'screen')).toHaveProperty('traits')
  })

  test('keeps a key named __proto__ as plain data', () => {
    const row: unknown = JSON.parse(
      '{"type":"page","userId":"u","__proto__":{"a":1},"traits":{"__proto__":{"b":2}}}',
    )
    const prepared = prepare(row)
    expect(prepared).toMatchObject({ kind: 'prepared' })
    expect(JSON.stringify(prepared)).toContain('\\"__proto__\\":{\\"a\\":1}')
    expect(JSON.stringify(prepared)).toContain('\\"properties\\":{\\"__proto__\\":{\\"b\\":2}}')
  })

  test.each<[string, unknown, CallType | undefined]>([
    ['not_an_object', 'text', undefined],
    ['not_an_object', null, 'track'],
    ['unknown_type', { userId: 'u' }, undefined],
    ['unknown_type', { type: 'delete', userId: 'u' }, undefined],
    ['wrong_type', { userId: 'u', traits: [] }, 'identify'],
    ['no_user_anon_id', {}, 'identify'],
    ['no_event', { userId: 'u' }, 'track'],
    ['no_group_id', { userId: 'u' }, 'group'],
    ['no_previous_id', { userId: 'u' }, 'alias'],
    ['no_user_id', { previousId: 'p' }, 'alias'],
  ])('refuses with %s: %j', (code, value, type) => {
    expect(prepare(value, type)).toMatchObject({ kind: 'refused', code })
  })

  test.each<[string, () => unknown]>([
    ['a circular reference', () => circular()],
    ['a BigInt', () => ({ amount: 1n })],
    ['a toJSON that throws', () => ({ at: { toJSON: () => fail() } })],
    ['a toJSON that throws a value without text', () => ({ at: { toJSON: () => failOddly() } })],
  ])('refuses values that JSON cannot represent: %s', (_name, properties) => {
    const prepared = prepare({ userId: 'u', event: 'E', properties: properties() }, 'track')
    expect(prepared).toMatchObject({ kind: 'refused', code: 'wrong_type' })
    expect(prepared).toHaveProperty('message', expect.stringMatching(/^The call cannot be .+$/))
  })

  test('refuses a getter that throws', () => {
    const call = {
      get userId(): string {
        return fail()
      },
    }
    expect(prepare(call, 'identify')).toMatchObject({ kind: 'refused', code: 'wrong_type' })
  })

  test('accepts a call of exactly 32 KB of UTF-8 and refuses one byte more', () => {
    const call = (text: string) => ({ userId: 'u', traits: { text } })
    const empty = prepare(call(''), 'identify')
    const room = limits.callBytesMax - (empty.kind === 'prepared' ? empty.call.bytes : 0)
    const full = 'ä'.repeat(Math.floor(room / 2)) + 'x'.repeat(room % 2)
    expect(prepare(call(full), 'identify')).toMatchObject({
      kind: 'prepared',
      call: { bytes: limits.callBytesMax },
    })
    expect(prepare(call(`${full}x`), 'identify')).toEqual({
      kind: 'refused',
      code: 'event_too_large',
      message: 'A call must have at most 32768 bytes as JSON: this one has 32769',
    })
  })
})

function circular(): object {
  const object: Record<string, unknown> = {}
  object['self'] = object
  return object
}

function fail(): never {
  throw new Error('no value')
}

function failOddly(): never {
  throw Object.create(null)
}
