import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { stopwatch } from '../../../src/runtime/index.ts'
import { sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const heldMs = 60_000
const perSecond = 1_000
const batchesPerSecond = 20

/** Adds, claims and settles at a steady rate, and tells how long each claim took. */
async function deliver(store: PostgresStore): Promise<readonly number[]> {
  const claimMs: number[] = []
  const elapsedMs = stopwatch()
  for (let batch = 0; elapsedMs() < heldMs; batch++) {
    const nowMs = Date.now()
    const count = perSecond / batchesPerSecond
    const events = Array.from({ length: count }, (_, index) => ({
      sourceId: 'website',
      messageId: `m_${batch}_${index}`,
      type: 'track' as const,
      userId: null,
      deliveries: [{ destinationId: 'crm', body: '{}' }],
    }))
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    for (let left = count; left > 0;) {
      const shares = [
        { destinationId: 'crm', lane: 'first', dueByMs: nowMs, deliveriesMax: 25 } as const,
      ]
      const claiming = stopwatch()
      const claimed = await store.claim({ nowMs, shares })
      claimMs.push(claiming())
      if (claimed.length === 0) throw new Error('what was added cannot be claimed')
      left -= claimed.length
      const settlements = claimed.map((delivery) => {
        return { kind: 'delivered', delivery, attempts: 1 } as const
      })
      await store.settle({ nowMs, settlements, requests: [] })
    }
    await sleep(Math.max((batch + 1) * (1_000 / batchesPerSecond) - elapsedMs(), 0))
  }
  return claimMs
}

function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN
}

async function run(): Promise<readonly PressureFinding[]> {
  const server = await PostgresServer.start()
  const store = await PostgresStore.open(server.url())
  const dump = new Client({ connectionString: sessionUrl(server.url(), { isReadOnly: false }) })
  try {
    await dump.connect()
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await dump.query('SELECT count(*) FROM evroute_deliveries')
    const claimMs = await deliver(store)
    const tenth = Math.floor(claimMs.length / 10)
    const [early, late] = [median(claimMs.slice(0, tenth)), median(claimMs.slice(-tenth))]
    const rate = Math.round((claimMs.length * 25_000) / heldMs)
    return [
      {
        must: 'claims at the end take at most 3 times as long as at the beginning',
        measured: `${early.toFixed(1)} ms, then ${late.toFixed(1)} ms`,
        holds: late <= 3 * early,
      },
      {
        must: 'the rate stays at 1,000/s',
        measured: `${rate}/s`,
        holds: rate >= 0.9 * perSecond,
      },
    ]
  } finally {
    await dump.end()
    await store.close()
    await server.end()
  }
}

/** What `pg_dump` and long reports do to a queue. */
export const scenario: PressureScenario = {
  title: 'another session holds a snapshot for a minute at 1,000 deliveries/s',
  run,
}
