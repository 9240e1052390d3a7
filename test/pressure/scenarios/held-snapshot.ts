import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import {
  openPostgresStore,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts'
import { median } from '../../bench/table.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const heldMs = 60_000
const perSecond = 1_000
const batchesPerSecond = 20
const claimedAtOnce = 25

/** A claim: how long it took, and when it was answered. */
interface TimedClaim {
  readonly tookMs: number
  readonly atMs: number
}

/** Adds, claims and settles at a steady rate, and times the claims. */
async function deliver(store: PostgresStore): Promise<readonly TimedClaim[]> {
  const claims: TimedClaim[] = []
  const elapsedMs = stopwatch()
  for (let batch = 0; elapsedMs() < heldMs; batch++) {
    const nowMs = systemClock.nowMs()
    const count = perSecond / batchesPerSecond
    const events = Array.from({ length: count }, (_, index) => ({
      sourceId: 'website',
      messageId: `m_${batch}_${index}`,
      type: 'track' as const,
      userId: null,
      deliveries: [{ destinationId: 'crm', body: '{}' }],
    }))
    await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    for (let remaining = count; remaining > 0;) {
      const shares = [
        {
          destinationId: 'crm',
          lane: 'first',
          dueByMs: nowMs,
          deliveriesMax: claimedAtOnce,
        } as const,
      ]
      const claiming = stopwatch()
      const leased = await store.claim({ nowMs, shares })
      claims.push({ tookMs: claiming(), atMs: elapsedMs() })
      if (leased.length === 0) throw new Error('The added deliveries cannot be claimed')
      remaining -= leased.length
      const settlements = leased.map((delivery) => {
        return { kind: 'delivered', delivery, attempts: 1 } as const
      })
      await store.settle({ nowMs, settlements, requests: [] })
    }
    await sleep(Math.max((batch + 1) * (1_000 / batchesPerSecond) - elapsedMs(), 0))
  }
  return claims
}

async function run(): Promise<readonly PressureFinding[]> {
  const server = await PostgresServer.start()
  const store = await openPostgresStore(server.url())
  const dump = new Client({ connectionString: sessionUrl(server.url(), { isReadOnly: false }) })
  try {
    await dump.connect()
    await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await dump.query('SELECT count(*) FROM evroute_deliveries')
    const claims = await deliver(store)
    const early = claims.filter(({ atMs }) => atMs < heldMs / 6)
    const late = claims.filter(({ atMs }) => atMs >= (heldMs * 5) / 6)
    const [earlyMs = NaN, lateMs = NaN] = [early, late].map((some) =>
      median(some.map(({ tookMs }) => tookMs)),
    )
    const rateOf = (some: readonly TimedClaim[]): number =>
      Math.round((some.length * claimedAtOnce * 6_000) / heldMs)
    return [
      {
        must: 'claims at the end take at most 3 times as long as at the beginning',
        measured: `${earlyMs.toFixed(1)} ms, then ${lateMs.toFixed(1)} ms`,
        holds: lateMs <= 3 * earlyMs,
      },
      {
        must: 'the rate of the last ten seconds is at least 90 % of that of the first ten',
        measured: `${rateOf(early)}/s, then ${rateOf(late)}/s`,
        holds: late.length >= 0.9 * early.length,
      },
    ]
  } finally {
    await dump.end()
    await store.close()
    await server.end()
  }
}

/** A long transaction, as in `pg_dump` or a long report. */
export const scenario: PressureScenario = {
  title: 'another session holds a snapshot for a minute at 1,000 deliveries/s',
  run,
}
