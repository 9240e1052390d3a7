import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AnalyticsEvent } from '../../../src/model/index.ts'
import { bodyStartMax, eventNameOf } from '../../../src/store/log/logged-delivery.ts'
import { buildWebhookBody } from '../../../src/webhook/index.ts'

const text = fc.string({ unit: 'binary', maxLength: 60 })
const id = fc.option(text, { nil: undefined })
const properties = fc.dictionary(fc.constantFrom('event', 'name', 'type', '"'), text)

test('finds the name of an event in any body', () => {
  const event = fc.record({
    type: fc.constantFrom('track', 'page', 'screen', 'identify', 'group', 'alias', 'delete'),
    ...{ userId: id, anonymousId: id, event: text, name: text, properties, traits: properties },
  })
  fc.assert(
    fc.property(event, (given) => {
      const body = buildWebhookBody(given as unknown as AnalyticsEvent, 'both')
      const { type, event: ofTrack, name } = given
      const expected = type === 'track' ? ofTrack : /page|screen/.test(type) ? name : null
      expect(eventNameOf(body.slice(0, bodyStartMax))).toBe(expected)
    }),
  )
})

test.each([
  ['no name', '{"version":1,"type":"page","userId":"u_1","properties":{"name":"Home"}}'],
  ['an erased body', ''],
  ['a name that is cut', '{"version":1,"type":"track","event":"Order Compl'],
  ['a name that is cut in an escape', '{"version":1,"type":"track","event":"Order \\'],
])('finds no name in a body with %s', (_what, body) => {
  expect(eventNameOf(body)).toBeNull()
})
