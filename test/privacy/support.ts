import type { Destination } from '../../src/model/index.ts'

/** The time at which the clocks of these tests stand still. */
export const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** `nowMs` as a timestamp. */
export const now = '2026-01-02T03:04:05.678Z'

/** A destination of the source `website`. */
export const crm: Destination = {
  id: 'crm',
  sourceIds: ['website'],
  enabled: true,
  endpoints: [{ url: 'https://crm.example.com/', headers: {} }],
  sharedSecret: undefined,
  aliasKeys: 'spec',
  acceptsHistorical: true,
  concurrency: 10,
}
