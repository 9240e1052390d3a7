import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { normalise, type Arrival } from '../../src/intake/index.ts'
import { parseTimestamp, type CallType, type JsonObject } from '../../src/model/index.ts'
import { now, nowMs } from './support.ts'

const dayMs = 24 * 60 * 60 * 1_000

function eventOf(call: JsonObject, arrival: Partial<Arrival> = {}, type: CallType = 'track') {
  return normalised(call, arrival, type).event
}

function normalised(call: JsonObject, arrival: Partial<Arrival> = {}, type: CallType = 'track') {
  const newId = (): string => 'id-1'
  return normalise(type, call, { sourceId: 'website', receivedAtMs: nowMs, newId, ...arrival })
}

function timestampOf(call: JsonObject, arrival: Partial<Arrival> = {}): string {
  return eventOf(call, arrival).timestamp
}

function at(time: string): number {
  return Date.parse(`2026-01-02T${time}Z`)
}

describe('normalise', () => {
  test.each<[CallType, JsonObject]>([
    ['identify', { userId: 'u', anonymousId: 'a', traits: { plan: 'free' } }],
    ['track', { userId: 'u', event: 'E', properties: { total: 9.5 } }],
    ['page', { userId: 'u', name: 'Home', category: 'Docs', properties: { path: '/' } }],
    ['screen', { anonymousId: 'a', name: 'Home', category: 'App', properties: {} }],
    ['group', { userId: 'u', groupId: 'g', traits: { 'total billed': 830 } }],
    ['alias', { userId: 'u', previousId: 'a' }],
  ])('keeps the fields of %s and adds those of an event', (type, call) => {
    const given = { ...call, messageId: 'm-1', context: { ip: '192.0.2.1' } }
    expect(eventOf(given, {}, type)).toEqual({
      ...given,
      type,
      sourceId: 'website',
      receivedAtMs: nowMs,
      timestamp: now,
      historical: false,
      integrations: {},
    })
  })

  test('turns ids that are numbers into text', () => {
    const ids = { userId: 42, anonymousId: 0, groupId: 7.5, previousId: -1, messageId: 1e21 }
    expect(eventOf(ids)).toMatchObject({
      userId: '42',
      anonymousId: '0',
      groupId: '7.5',
      previousId: '-1',
      messageId: '1e+21',
    })
  })

  test.each([null, undefined, ''])('leaves out ids and names that are %j', (value) => {
    const fields = ['userId', 'anonymousId', 'previousId', 'groupId', 'event', 'name', 'category']
    const event = eventOf(Object.fromEntries(fields.map((field) => [field, value])))
    for (const field of fields) expect(event).not.toHaveProperty(field)
  })

  test('leaves out properties and traits that are null, and makes context and integrations empty', () => {
    const call = { properties: null, traits: null, context: null, integrations: null }
    const event = eventOf(call)
    expect(event).not.toHaveProperty('properties')
    expect(event).not.toHaveProperty('traits')
    expect(event).toMatchObject({ context: {}, integrations: {} })
  })

  test('keeps null inside properties, where it has a meaning', () => {
    expect(eventOf({ properties: { coupon: null } }).properties).toEqual({ coupon: null })
  })

  test.each([undefined, null, ''])('makes a messageId if it is %j', (messageId) => {
    expect(eventOf({ messageId }).messageId).toBe('id-1')
  })

  describe('integrations', () => {
    test('move up from the context if the call has none', () => {
      const context = { ip: '192.0.2.1', integrations: { All: false } }
      for (const integrations of [undefined, null]) {
        expect(eventOf({ context, integrations })).toMatchObject({
          context: { ip: '192.0.2.1' },
          integrations: { All: false },
        })
      }
      expect(eventOf({ context }).context).not.toHaveProperty('integrations')
    })

    test('of the call win over those of the context, which are dropped', () => {
      const context = { integrations: { All: false } }
      expect(eventOf({ context, integrations: { Webhooks: true } })).toMatchObject({
        context: {},
        integrations: { Webhooks: true },
      })
      expect(eventOf({ context, integrations: {} }).integrations).toEqual({})
    })

    test('of the context are ignored if they are not an object', () => {
      expect(eventOf({ context: { integrations: [false] } }).integrations).toEqual({})
    })

    test('move up without changing the call', () => {
      const context = Object.freeze({ integrations: Object.freeze({ All: false }) })
      const call = Object.freeze({ context })
      eventOf(call)
      expect(call).toEqual({ context: { integrations: { All: false } } })
    })
  })

  describe('timestamp', () => {
    test('is written as UTC with milliseconds', () => {
      expect(timestampOf({ timestamp: '2026-01-02T04:04:00+01:00' })).toBe(
        '2026-01-02T03:04:00.000Z',
      )
      expect(timestampOf({ originalTimestamp: '2026-01-02T03:04:00+0000' })).toBe(
        '2026-01-02T03:04:00.000Z',
      )
    })

    test.each([undefined, null])('is the time of arrival if it is %j', (timestamp) => {
      const { event, timestampUnreadable } = normalised({ timestamp }, { sentAtMs: at('02:00:00') })
      expect(event.timestamp).toBe(now)
      expect(timestampUnreadable).toBe(false)
    })

    test.each(['hello 5', '', 1_767_323_045_678, {}, true])(
      'is the time of arrival if it is %j, which is reported as unreadable',
      (value) => {
        for (const call of [{ timestamp: value }, { originalTimestamp: value }]) {
          const { event, timestampUnreadable } = normalised(call, { sentAtMs: at('02:00:00') })
          expect(event).toMatchObject({ timestamp: now, historical: false })
          expect(timestampUnreadable).toBe(true)
        }
      },
    )

    test('is not corrected if the arrival has no sentAtMs, even if the call has a sentAt', () => {
      const call = { timestamp: '2026-01-02T03:00:00Z', sentAt: '2015-12-12T19:11:01.169Z' }
      expect(timestampOf(call)).toBe('2026-01-02T03:00:00.000Z')
    })

    test('is not corrected if neither the batch nor the call has a sentAt', () => {
      const call = { timestamp: '2026-01-02T03:00:00Z' }
      expect(timestampOf(call, { sentAtMs: null })).toBe('2026-01-02T03:00:00.000Z')
    })

    test('is corrected by the sentAt of the batch', () => {
      const arrival = { sentAtMs: at('02:00:10') }
      expect(timestampOf({ timestamp: '2026-01-02T02:00:00Z' }, arrival)).toBe(
        '2026-01-02T03:03:55.678Z',
      )
      expect(timestampOf({ originalTimestamp: '2026-01-02T02:00:00Z' }, arrival)).toBe(
        '2026-01-02T03:03:55.678Z',
      )
    })

    test.each([at('02:00:05'), null])(
      'is corrected by the sentAt of the call if that is readable, and otherwise by that of the batch',
      (sentAtMs) => {
        const call = { timestamp: '2026-01-02T02:00:00Z', sentAt: '2026-01-02T02:00:10Z' }
        expect(timestampOf(call, { sentAtMs })).toBe('2026-01-02T03:03:55.678Z')
        const vague = { ...call, sentAt: 'soon' }
        const expected = sentAtMs === null ? '02:00:00.000' : '03:04:00.678'
        expect(timestampOf(vague, { sentAtMs })).toBe(`2026-01-02T${expected}Z`)
      },
    )

    test('is not corrected again if the call also has an originalTimestamp', () => {
      const call = {
        originalTimestamp: '2015-12-12T19:11:01.152Z',
        sentAt: '2015-12-12T19:11:01.169Z',
        timestamp: '2015-12-12T19:11:01.249Z',
      }
      expect(timestampOf(call)).toBe('2015-12-12T19:11:01.249Z')
      expect(timestampOf(call, { sentAtMs: at('02:00:10') })).toBe('2015-12-12T19:11:01.249Z')
    })

    test.each([
      ['2026-01-02T02:00:00Z', '1970-01-01T00:00:00Z', '2026-01-02T02:00:00.000Z'],
      ['2026-01-02T02:01:00.001Z', '2026-01-02T02:00:00Z', '2026-01-02T02:01:00.001Z'],
      // A sender that rounds sentAt down, and a device whose clock lost its date.
      ['2026-01-02T02:00:00.900Z', '2026-01-02T02:00:00Z', '2026-01-02T03:04:06.578Z'],
      ['1970-01-01T00:00:10Z', '1970-01-01T00:00:20Z', '2026-01-02T03:03:55.678Z'],
    ])(
      '%s is corrected unless it is more than a minute after sentAt, %s',
      (timestamp, sentAt, written) => {
        expect(timestampOf({ timestamp }, { sentAtMs: Date.parse(sentAt) })).toBe(written)
      },
    )

    test('is originalTimestamp if timestamp is unreadable', () => {
      const call = { timestamp: 'hello 5', originalTimestamp: '2026-01-02T03:00:00Z' }
      expect(normalised(call)).toMatchObject({
        event: { timestamp: '2026-01-02T03:00:00.000Z' },
        timestampUnreadable: false,
      })
    })

    test('is the time of arrival if its correction leaves the range of four-digit years', () => {
      const call = { timestamp: '0010-01-01' }
      const arrival = { sentAtMs: Date.parse('9999-01-01T00:00:00Z') }
      expect(normalised(call, arrival)).toMatchObject({
        event: { timestamp: now },
        timestampUnreadable: true,
      })
    })

    test('can always be read again, whatever times the call contains', () => {
      const moment = fc.date({ noInvalidDate: true }).map((date) => date.toISOString())
      const stated = fc.option(fc.oneof(moment, fc.string()), { nil: undefined })
      fc.assert(
        fc.property(stated, stated, stated, (timestamp, originalTimestamp, sentAt) => {
          const call = { timestamp, originalTimestamp, sentAt }
          const written = timestampOf(call, { sentAtMs: null })
          expect(new Date(parseTimestamp(written) ?? NaN).toISOString()).toBe(written)
        }),
      )
    })
  })

  test('makes an event historical if it happened more than 24 hours before it arrived', () => {
    const atAge = (ageMs: number): boolean =>
      eventOf({ timestamp: new Date(nowMs - ageMs).toISOString() }).historical
    expect(atAge(dayMs)).toBe(false)
    expect(atAge(dayMs + 1)).toBe(true)
    expect(atAge(-dayMs)).toBe(false)
  })

  test('decides by the corrected time whether an event is historical, not by the clock of the sender', () => {
    const yesterday = { timestamp: '2025-12-01T00:00:00Z' }
    const sentAtMs = Date.parse('2025-12-01T00:00:01Z')
    expect(eventOf(yesterday, { sentAtMs }).historical).toBe(false)
  })
})
