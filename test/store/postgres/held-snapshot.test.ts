import type { Client } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ClaimFloors } from '../../../src/store/postgres/claim-floors.ts'
import { claimQuery, nextDueQuery } from '../../../src/store/postgres/claim-statement.ts'
import type { Query } from '../../../src/store/sql.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { delivered, event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { connect } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000 })

const databases = new PostgresDatabases()

/** Returns the number of pages that a statement reads. */
async function pagesRead(client: Client, { sql, values }: Query): Promise<number> {
  await client.query('BEGIN')
  const { rows } = await client.query<{
    'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }]
  }>({
    text: `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`,
    values: [...values],
  })
  await client.query('ROLLBACK')
  return rows[0]!['QUERY PLAN'][0].Plan['Shared Hit Blocks']
}

test('claims do not read settled rows while an old snapshot is held', async () => {
  const url = await databases.newUrl()
  const store = await openPostgresStore(url)
  onTestFinished(() => store.close())
  const dump = await connect(url)
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await dump.query('SELECT count(*) FROM evroute_deliveries')
  const share = { destinationId: 'crm', lane: 'first', dueByMs: nowMs + 9_999 } as const
  for (let batch = 0; batch < 20; batch++) {
    const atMs = nowMs + batch
    const events = Array.from({ length: 200 }, (_, index) => event(`m_${batch}_${index}`, 'crm'))
    await store.add({ nowMs: atMs, seenSinceMs: 0, events, handOver: [] })
    const shares = [{ ...share, deliveriesMax: 200 }]
    const claimed = await store.claim({ nowMs: atMs, shares })
    expect(claimed).toHaveLength(200)
    await store.settle({ nowMs: atMs, settlements: claimed.map(delivered), requests: [] })
  }
  const client = await connect(url)
  const own = { holder: 1, numbers: [], next: 1 }
  const lease = { holder: 1, number: 1, untilMs: nowMs + 60_000 }
  const known = new ClaimFloors()
  known.claimFrom(share)
  known.passed({ ...share, dueAtMs: nowMs + 19 })
  const shares = [{ ...share, deliveriesMax: 20 }]
  const claim = (floors: ClaimFloors) => claimQuery(shares, { nowMs, lease, own, floors })
  const look = (floors: ClaimFloors) => nextDueQuery(['crm'], { nowMs, own, floors })
  for (const query of [claim, look]) {
    const whole = await pagesRead(client, query(new ClaimFloors()))
    expect(await pagesRead(client, query(known))).toBeLessThan(whole / 5)
  }
})
