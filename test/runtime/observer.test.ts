import { expect, test } from 'vitest'
import { silentObserver } from '../../src/runtime/index.ts'

test('silentObserver ignores every report', () => {
  const reportAll = (): void => {
    silentObserver.request({
      destinationId: 'crm',
      deliveryId: 1,
      messageId: 'm-1',
      url: 'https://crm.example.com/',
      lane: 'first',
      attempt: 1,
      atMs: 0,
      outcome: 'success',
      status: 200,
      error: null,
      durationMs: 1,
      excerpt: '',
    })
    silentObserver.settled({
      messageId: 'm-1',
      type: 'track',
      destinationId: 'crm',
      state: 'delivered',
      attempts: 1,
      acceptedAtMs: 0,
      reason: null,
    })
    silentObserver.endpoint({
      destinationId: 'crm',
      url: 'https://crm.example.com/',
      state: 'closed',
      probeAtMs: null,
      error: null,
    })
  }
  expect(reportAll).not.toThrow()
})
