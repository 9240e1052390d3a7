import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnalyticsEvent, Destination, JsonObject } from '../../src/model/index.ts'
import { EventFilter } from '../../src/match/index.ts'
import { route, type RoutingReason } from '../../src/router/index.ts'
import { crm } from '../intake/support.ts'

const event: AnalyticsEvent = {
  messageId: 'm_1',
  type: 'track',
  sourceId: 'website',
  receivedAtMs: 0,
  timestamp: '1970-01-01T00:00:00.000Z',
  historical: false,
  context: {},
  integrations: {},
}

function decide(
  changes: Partial<AnalyticsEvent>,
  destination: Partial<Destination> = {},
): readonly [send: boolean, reason: RoutingReason] {
  const [decision] = route({ ...event, ...changes }, [{ ...crm, ...destination }])
  if (decision === undefined) throw new Error('There is no decision')
  return [decision.send, decision.reason]
}

function hintFor(integrations: JsonObject): string | undefined {
  return route({ ...event, integrations }, [crm])[0]?.hint
}

describe('route', () => {
  test.each<[JsonObject, RoutingReason]>([
    [{}, 'enabled_by_default'],
    [{ All: true }, 'enabled_by_default'],
    [{ All: null }, 'enabled_by_default'],
    [{ Other: false }, 'enabled_by_default'],
    [{ Webhooks: true }, 'enabled_by_name'],
    [{ Webhooks: {} }, 'enabled_by_name'],
    [{ Webhooks: null }, 'enabled_by_name'],
    [{ Webhooks: 0 }, 'enabled_by_name'],
    [{ Webhooks: 'false' }, 'enabled_by_name'],
    [{ Webhooks: false }, 'disabled_by_name'],
    [{ Webhooks: false, All: true }, 'disabled_by_name'],
    [{ All: false }, 'disabled_by_all'],
    [{ All: false, Webhooks: true }, 'enabled_by_name'],
    [{ All: false, Webhooks: { a: 1 } }, 'enabled_by_name'],
    [{ All: false, Other: true }, 'disabled_by_all'],
    [{ all: false }, 'disabled_by_all'],
    [{ all: false, Webhooks: true }, 'enabled_by_name'],
    [{ all: false, All: true }, 'enabled_by_default'],
    [{ all: true, All: false }, 'disabled_by_all'],
    [{ ALL: false }, 'enabled_by_default'],
    [{ webhooks: false }, 'enabled_by_default'],
    [{ webhooks: true, All: false }, 'disabled_by_all'],
  ])('decides by the integrations %j: %s', (integrations, reason) => {
    expect(decide({ integrations })).toEqual([reason.startsWith('enabled'), reason])
  })

  test('sends only events of a connected source', () => {
    expect(decide({ sourceId: 'app' })).toEqual([false, 'not_connected'])
    expect(decide({ sourceId: 'app' }, { sourceIds: ['website', 'app'] })[0]).toBe(true)
    expect(decide({}, { sourceIds: [] })).toEqual([false, 'not_connected'])
  })

  test('sends nothing to a disabled destination', () => {
    const integrations = { Webhooks: true }
    expect(decide({ integrations }, { enabled: false })).toEqual([false, 'destination_disabled'])
  })

  test('sends historical events only to destinations that accept them', () => {
    const historical = { historical: true }
    expect(decide(historical)).toEqual([true, 'enabled_by_default'])
    expect(decide(historical, { acceptsHistorical: false })).toEqual([
      false,
      'historical_not_accepted',
    ])
    expect(decide({}, { acceptsHistorical: false })[0]).toBe(true)
    const requested = { ...historical, integrations: { Webhooks: true } }
    expect(decide(requested, { acceptsHistorical: false })[1]).toBe('historical_not_accepted')
  })

  test('applies the filter after all other rules', () => {
    const filter = new EventFilter('type:track properties.revenue:>10')
    const dear = { properties: { revenue: 39.95 } }
    expect(decide(dear, { filter })).toEqual([true, 'enabled_by_default'])
    expect(decide({}, { filter })).toEqual([false, 'filter_not_matched'])
    expect(decide({ ...dear, type: 'identify' }, { filter })[0]).toBe(false)
    expect(decide({ integrations: { All: false } }, { filter })[1]).toBe('disabled_by_all')
    expect(decide({ historical: true }, { filter, acceptsHistorical: false })[1]).toBe(
      'historical_not_accepted',
    )
  })

  test('sends deletions regardless of filters', () => {
    const filter = new EventFilter('type:track')
    expect(decide({ type: 'delete', userId: 'u_1' }, { filter })).toEqual([
      true,
      'enabled_by_default',
    ])
  })

  test('names the first reason if several rules exclude an event', () => {
    const off = { historical: true, integrations: { All: false } }
    const closed = { sourceIds: [], enabled: false, acceptsHistorical: false }
    expect(decide(off, closed)[1]).toBe('not_connected')
    expect(decide(off, { ...closed, sourceIds: ['website'] })[1]).toBe('destination_disabled')
    expect(decide(off, { acceptsHistorical: false })[1]).toBe('disabled_by_all')
  })

  test('ignores inherited keys', () => {
    for (const inherited of [{ All: false }, { all: false }, { Webhooks: false }]) {
      expect(decide({ integrations: Object.create(inherited) as JsonObject })).toEqual([
        true,
        'enabled_by_default',
      ])
      const parsed = JSON.parse(`{"__proto__":${JSON.stringify(inherited)}}`) as JsonObject
      expect(decide({ integrations: parsed })[1]).toBe('enabled_by_default')
    }
  })

  test('points out a key that resembles the name if the name itself is absent', () => {
    const hint =
      'The key "webhooks" has no effect: keys are case sensitive, and the key of this destination is "Webhooks"'
    expect(hintFor({ webhooks: false })).toBe(hint)
    expect(hintFor({ All: false, WEBHOOK: true })).toContain('"WEBHOOK"')
    expect(hintFor({ 'Webhooks (Actions)': false })).toContain('"Webhooks (Actions)" has no effect')
    expect(hintFor({ webhooks: true, Webhooks: true })).toBeUndefined()
    expect(hintFor({ Webhooks: true })).toBeUndefined()
    expect(hintFor({ 'My webhooks': true })).toBeUndefined()
  })

  test('decides for each of several destinations, in their order', () => {
    const destinations = [
      { ...crm, id: 'off', enabled: false },
      { ...crm, id: 'app', sourceIds: ['app'] },
      crm,
      { ...crm, id: 'recent', acceptsHistorical: false },
    ]
    const decisions = route({ ...event, historical: true }, destinations)
    expect(
      decisions.map(({ destinationId, send, reason }) => [destinationId, send, reason]),
    ).toEqual([
      ['off', false, 'destination_disabled'],
      ['app', false, 'not_connected'],
      ['crm', true, 'enabled_by_default'],
      ['recent', false, 'historical_not_accepted'],
    ])
    expect(route(event, [])).toEqual([])
  })

  test('agrees with a second formulation of the rules, whatever the event and the destinations', () => {
    const value = fc.constantFrom<JsonObject[string][]>(true, false, null, 0, 'false', {}, [])
    const name = fc.constantFrom('All', 'all', 'ALL', 'Webhooks', 'webhooks', 'Other', '__proto__')
    const anyEvent = fc.record({
      sourceId: fc.constantFrom('website', 'app'),
      historical: fc.boolean(),
      integrations: fc
        .uniqueArray(fc.tuple(name, value), { selector: ([key]) => key })
        .map((entries) => Object.fromEntries(entries)),
    })
    const anyDestination = fc.record({
      id: fc.string(),
      enabled: fc.boolean(),
      sourceIds: fc.subarray(['website', 'app']),
      acceptsHistorical: fc.boolean(),
    })
    fc.assert(
      fc.property(anyEvent, fc.array(anyDestination), (given, changes) => {
        const destinations = changes.map((change) => ({ ...crm, ...change }))
        const decisions = route({ ...event, ...given }, destinations)
        expect(decisions.map(({ destinationId }) => destinationId)).toEqual(
          destinations.map(({ id }) => id),
        )
        expect(decisions.map(({ send }) => send)).toEqual(
          destinations.map((destination) => isWanted({ ...event, ...given }, destination)),
        )
      }),
    )
  })
})

/** Formulates the routing rules a second time, as the conditions that an event must meet. */
function isWanted(given: AnalyticsEvent, destination: Destination): boolean {
  const own = new Map(Object.entries(given.integrations))
  const everything = own.has('All') ? own.get('All') : own.get('all')
  const wanted = own.has('Webhooks') ? own.get('Webhooks') !== false : everything !== false
  const connected = destination.enabled && destination.sourceIds.includes(given.sourceId)
  return wanted && connected && (destination.acceptsHistorical || !given.historical)
}
