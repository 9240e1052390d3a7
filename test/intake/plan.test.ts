import { describe, expect, test } from 'vitest'
import { deletionEvent, planEvent } from '../../src/intake/index.ts'
import type { AnalyticsEvent } from '../../src/model/index.ts'
import { crm, now, nowMs } from './support.ts'

const alias: AnalyticsEvent = {
  messageId: 'm-1',
  type: 'alias',
  sourceId: 'website',
  receivedAtMs: nowMs,
  timestamp: now,
  historical: false,
  userId: 'user-1',
  previousId: 'anonymous-1',
  context: {},
  integrations: {},
}

describe('planEvent', () => {
  test('plans a delivery for each destination that gets the event, and for no other', () => {
    const destinations = [
      { ...crm, id: 'off', enabled: false },
      { ...crm, id: 'first' },
      { ...crm, id: 'other', sourceIds: ['app'] },
      { ...crm, id: 'second' },
    ]
    const { decisions, deliveries } = planEvent(alias, destinations)
    expect(decisions.map(({ destinationId }) => destinationId)).toEqual([
      'off',
      'first',
      'other',
      'second',
    ])
    expect(deliveries.map(({ destinationId }) => destinationId)).toEqual(['first', 'second'])
  })

  test('builds the body as each destination wants it', () => {
    const { deliveries } = planEvent(alias, [crm, { ...crm, id: 'camel', aliasKeys: 'camel' }])
    const rest = `"context":{},"timestamp":"${now}","messageId":"m-1"`
    expect(deliveries.map(({ body }) => body)).toEqual([
      `{"version":1,"type":"alias","Previous ID":"anonymous-1","User ID":"user-1",${rest}}`,
      `{"version":1,"type":"alias","previousId":"anonymous-1","userId":"user-1",${rest}}`,
    ])
  })

  test('plans no delivery if no destination accepts the event', () => {
    expect(planEvent({ ...alias, integrations: { All: false } }, [crm])).toMatchObject({
      decisions: [{ reason: 'disabled_by_all' }],
      deliveries: [],
    })
    expect(planEvent(alias, [])).toEqual({ decisions: [], deliveries: [] })
  })
})

describe('deletionEvent', () => {
  const arrival = { sourceId: 'website', receivedAtMs: nowMs, newId: () => 'id-1' }

  test('turns a deletion request into an event', () => {
    const event = deletionEvent({ userId: 'user-1', timestamp: '2012-12-02T00:30:08Z' }, arrival)
    expect(event).toEqual({
      messageId: 'id-1',
      type: 'delete',
      sourceId: 'website',
      receivedAtMs: nowMs,
      timestamp: '2012-12-02T00:30:08.000Z',
      historical: false,
      userId: 'user-1',
      context: {},
      integrations: {},
    })
  })

  test.each([undefined, 'hello 5'])(
    'uses the time of arrival if the timestamp is %j',
    (timestamp) => {
      expect(deletionEvent({ userId: 'user-1', timestamp }, arrival).timestamp).toBe(now)
    },
  )
})
