import { expect, test } from 'vitest'
import { PlannedEvents } from '../../../src/cli/sending/dry-outlet.ts'
import type { NewEvent } from '../../../src/delivery/index.ts'

const event = (messageId: string, deliveries: NewEvent['deliveries'] = []): NewEvent => ({
  sourceId: 'cli',
  messageId,
  type: 'track',
  userId: 'u_1',
  deliveries,
})

test('counts events that would be sent, filtered events and duplicates', () => {
  const events = new PlannedEvents()
  const routed = event('m_1', [{ destinationId: 'to', body: '{}' }])
  expect(events.add([routed, event('m_2'), routed])).toEqual(['routed', 'filtered', 'duplicate'])
  const counted = { accepted: 3, routed: 1, filtered: 1, duplicate: 1, suppressed: 0 }
  expect(events.ledger).toMatchObject({ ...counted, deliveries: 0, pending: 0 })
})

test('forgets the oldest messageId at the same limit as the in-memory store', () => {
  const events = new PlannedEvents()
  events.add(Array.from({ length: 100_001 }, (_, index) => event(`m_${index}`)))
  expect(events.add([event('m_0'), event('m_100000')])).toEqual(['filtered', 'duplicate'])
})
