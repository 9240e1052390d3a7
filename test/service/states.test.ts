import { expect, test } from 'vitest'
import { Metrics } from '../../src/admin-api/index.ts'
import { DestinationFaults } from '../../src/delivery/index.ts'
import { formatTimestamp } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { destinationStates } from '../../src/service/states.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

test('the state of a destination has its counts, breakers and faults, and no secrets', async () => {
  const { runtime } = recordingRuntime(new ManualClock(startMs))
  const [a, b] = ['https://example.com/a', 'https://example.com/b'] as const
  const secret = 'not-a-real-secret'
  const destination = checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: [
      { url: a, headers: { 'X-Key': secret } },
      { url: b, rate: '50/s' },
    ],
    sharedSecret: secret,
  })
  const { breakers } = new Metrics({ figures: () => undefined, runtime })
  breakers.configure([destination])
  const probeAtMs = startMs + 30_000
  breakers.change({ destinationId: 'crm', url: a, state: 'open', probeAtMs, error: 'status_503' })
  const faults = new DestinationFaults(runtime)
  faults.configure([destination])
  const request = { destinationId: 'crm', url: b, outcome: 'final', error: 'status_404' }
  faults.note(request as never)
  const counts = { deliveries: 4, delivered: 1, failed: 1, expired: 1, pending: 1 }
  const store = { destinationCounts: () => Promise.resolve([{ destinationId: 'crm', ...counts }]) }
  const states = await destinationStates([destination], { store, breakers, faults })
  const at = formatTimestamp(startMs)
  const fault = { reason: 'status_404', failures: 1, since: at, last: at }
  expect(states).toEqual([
    {
      id: 'crm',
      enabled: true,
      sources: ['website'],
      endpoints: [
        { url: a, breaker: 'open', probeAt: formatTimestamp(probeAtMs), faults: [] },
        { url: b, breaker: 'closed', probeAt: null, rate: '50/s', faults: [fault] },
      ],
      ...counts,
    },
  ])
  expect(JSON.stringify(states)).not.toContain(secret)
})
