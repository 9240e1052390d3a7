import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventTypes, limits } from '../../src/model/index.ts'
import { readWebhook, type MalformedCode } from '../../src/receiver/read-webhook.ts'

const bytes = (text: string): Buffer => Buffer.from(text, 'utf8')

describe('readWebhook accepts', () => {
  test.each([
    { type: 'identify' },
    { type: 'page' },
    { type: 'screen' },
    { type: 'track', event: 'Ping' },
    { type: 'group', groupId: 'acme' },
    { type: 'group', groupId: 7 },
    { type: 'alias', 'Previous ID': 'a', 'User ID': 'b' },
    { type: 'alias', previousId: 'a', userId: 'b' },
    { type: 'alias', 'Previous ID': 'a', userId: 'b' },
    { type: 'delete', userId: 'u_1' },
  ])('%j, without version and identity', (body) => {
    const { content, flaw } = readWebhook(bytes(JSON.stringify(body)))
    expect(content).toMatchObject({ kind: 'webhook', type: body.type, body, code: null })
    expect(flaw).toBeNull()
  })

  test('JSON after a byte order mark', () => {
    expect(readWebhook(bytes('\ufeff{"type":"page"}')).content).toMatchObject({ kind: 'webhook' })
  })

  test('a body with a key like __proto__, as plain data', () => {
    const { content } = readWebhook(bytes('{"type":"page","__proto__":{"userId":"u_1"}}'))
    expect(content).toMatchObject({ kind: 'webhook', userId: null })
    expect(content.body?.['userId']).toBeUndefined()
  })
})

describe('readWebhook refuses', () => {
  const nested = (levels: number): string =>
    `{"type":"page","properties":${'{"a":'.repeat(levels - 2)}{}${'}'.repeat(levels - 2)}}`

  const malformed: readonly (readonly [name: string, text: string, MalformedCode, RegExp])[] = [
    ['nothing', '', 'invalid_json', /^The body is empty$/],
    ['broken JSON', '{"type":', 'invalid_json', /^The body is not JSON: /],
    ['an array', '[]', 'not_an_object', /^The body is an array, not a JSON object$/],
    ['null', 'null', 'not_an_object', /^The body is null, not a JSON object$/],
    ['a string', '"track"', 'not_an_object', /^The body is a string, not a JSON object$/],
    ['one without a type', '{}', 'no_type', /^The body has no type$/],
    ['one with null for a type', '{"type":null}', 'no_type', /^The body has no type$/],
    ['one with an empty type', '{"type":""}', 'no_type', /^The body has no type$/],
    [
      'one of an unknown type',
      '{"type":"Track"}',
      'unknown_type',
      /^The body's type is "Track", not/,
    ],
    ['one with a list for a type', '{"type":[]}', 'unknown_type', /^The body's type is an array/],
    ['one with an object for a type', '{"type":{}}', 'unknown_type', /is an object/],
    ['a track without event', '{"type":"track"}', 'no_event', /event/],
    ['a track with an empty event', '{"type":"track","event":""}', 'no_event', /event/],
    ['a track with a number for an event', '{"type":"track","event":5}', 'no_event', /event/],
    ['a group without groupId', '{"type":"group","userId":"u_1"}', 'no_group_id', /groupId/],
    ['an alias without ids', '{"type":"alias"}', 'no_previous_id', /"Previous ID"/],
    ['an alias without a user id', '{"type":"alias","Previous ID":"a"}', 'no_user_id', /"User ID"/],
    [
      'an alias without a previous id',
      '{"type":"alias","userId":"u"}',
      'no_previous_id',
      /previousId/,
    ],
    ['a delete without userId', '{"type":"delete","anonymousId":"a"}', 'no_user_id', /userId/],
    ['a delete of null', '{"type":"delete","userId":null}', 'no_user_id', /userId/],
    ['a body nested too deep', nested(502), 'too_deep', /501 levels/],
    ['a body nested too deep for any stack', nested(100_000), 'too_deep', /501 levels/],
  ]

  test.each(malformed)('%s', (...[, text, code, message]) => {
    const { content, flaw } = readWebhook(bytes(text))
    expect(content).toMatchObject({ kind: 'malformed', code })
    expect(flaw).toMatch(message)
  })

  test('bytes that are not UTF-8', () => {
    const body = Buffer.concat([bytes('{"type":"page","a":"'), Buffer.from([0xff]), bytes('"}')])
    expect(readWebhook(body)).toMatchObject({
      content: { code: 'invalid_json' },
      flaw: 'The body is not valid UTF-8',
    })
  })

  test('a body compressed with gzip, and says so', () => {
    expect(readWebhook(Buffer.from([0x1f, 0x8b, 8, 0]))).toMatchObject({
      content: { code: 'invalid_json' },
      flaw: expect.stringContaining('gzip') as string,
    })
  })

  test('text whose error message would send control characters to a terminal', () => {
    const reading = readWebhook(bytes('{"type":\u001b[31m\u202e}'))
    expect(reading).toMatchObject({ content: { code: 'invalid_json' } })
    expect(JSON.stringify(reading)).not.toMatch(/\\u001b|\u202e/)
  })
})

test('readWebhook accepts nesting as deep as a field of a call allows', () => {
  const { callNestingMax } = limits
  const properties = '['.repeat(callNestingMax) + ']'.repeat(callNestingMax)
  const { content } = readWebhook(bytes(`{"type":"page","properties":${properties}}`))
  expect(content.kind).toBe('webhook')
})

test('readWebhook never throws, whatever the bytes', () => {
  const body = fc.oneof(
    fc.uint8Array().map((array) => Buffer.from(array)),
    fc.json().map(bytes),
    fc
      .record({
        type: fc.constantFrom(...eventTypes),
        event: fc.jsonValue(),
        userId: fc.jsonValue(),
      })
      .map((value) => bytes(JSON.stringify(value))),
  )
  fc.assert(
    fc.property(body, (rawBody) => {
      expect(['webhook', 'malformed']).toContain(readWebhook(rawBody).content.kind)
    }),
  )
})
