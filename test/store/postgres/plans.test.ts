import { Client } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { DeliveryFilter, LeasedDelivery, Share } from '../../../src/delivery/index.ts'
import { ClaimFloors } from '../../../src/store/postgres/claim-floors.ts'
import { claimQuery, nextDueQuery } from '../../../src/store/postgres/claim-statement.ts'
import { sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import type { Query } from '../../../src/store/sql.ts'
import { listQuery } from '../../../src/store/postgres/log-statements.ts'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { settleQuery } from '../../../src/store/postgres/settle-statement.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** What PostgreSQL says of a step of a plan after it ran. */
interface PlanStep {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanStep[]
}

/** How deliveries are read by a statement. */
async function readsOf(client: Client, { sql, values }: Query): Promise<readonly PlanStep[]> {
  await client.query('BEGIN')
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanStep }[] }>({
    text: `EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${sql}`,
    values: [...values],
  })
  await client.query('ROLLBACK')
  return stepsOf(rows[0]!['QUERY PLAN'][0]!.Plan).filter(
    (step) => step['Relation Name'] === 'evroute_deliveries' && step['Node Type'].includes('Scan'),
  )
}

function stepsOf(step: PlanStep): readonly PlanStep[] {
  return [step, ...(step.Plans ?? []).flatMap(stepsOf)]
}

/** How many rows were looked at. */
function rowsRead(steps: readonly PlanStep[]): number {
  return steps.reduce((sum, step) => {
    const rows = step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)
    return sum + rows * step['Actual Loops']
  }, 0)
}

const analysed = [
  ['that were analysed', 'ANALYZE'],
  ['that were analysed when nothing waited', 'nothing waits'],
  ['of which the planner knows nothing', 'never'],
] as const

/** The tables of a store with 30,000 deliveries: a third each due for crm, parked for down, delivered to crm. */
async function filled(how: (typeof analysed)[number][1]): Promise<Client> {
  const url = await databases.newUrl()
  const store = await PostgresStore.open(url)
  await store.close()
  const client = new Client({ connectionString: sessionUrl(url, { isReadOnly: false }) })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`
    INSERT INTO evroute_messages SELECT number, 1, 'x' FROM generate_series(1, 30000) AS number;
    INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, attempts,
      window_attempts, manual_retries, source_id, message_id, user_id, type, state, lane, holds, settled_at)
    SELECT CASE number % 3 WHEN 1 THEN 'down' ELSE 'crm' END, number, number, ${nowMs}, ${nowMs}, 0,
      0, 0, 'website', 'm_' || number,
      CASE number % 2 WHEN 0 THEN 'busy' ELSE 'u_' || number END, 'track', CASE number % 3 WHEN 2 THEN 'delivered' ELSE 'pending' END,
      'first', '[]', CASE number % 3 WHEN 2 THEN ${nowMs} END
    FROM generate_series(1, 30000) AS number`)
  if (how === 'ANALYZE') await client.query('ANALYZE')
  if (how === 'nothing waits') {
    await client.query(`
      UPDATE evroute_deliveries SET state = 'delivered';
      ANALYZE evroute_deliveries;
      UPDATE evroute_deliveries SET state = 'pending' WHERE id % 3 <> 2`)
  }
  return client
}

test.each(analysed)('look-ups read no more than they find of tables %s', async (_name, how) => {
  const client = await filled(how)
  const reads = (filter: DeliveryFilter): Promise<readonly PlanStep[]> =>
    readsOf(client, listQuery({ filter, limit: 10 }))
  const ofUser = 'evroute_deliveries_of_user'
  for (const [filter, index, rows] of [
    [{ messageId: 'm_7' }, 'evroute_deliveries_of_message', 1],
    [
      { messageId: 'm_7', destinationId: 'down', states: ['pending'] },
      'evroute_deliveries_of_message',
      1,
    ],
    [{ userId: 'u_7' }, ofUser, 1],
    [{ userId: 'busy' }, ofUser, 10],
    // Every third of theirs is for another destination.
    [{ userId: 'busy', destinationId: 'crm' }, ofUser, 15],
  ] as const) {
    const steps = await reads(filter)
    expect([filter, steps.map((step) => step['Index Name'])]).toEqual([filter, [index]])
    expect(rowsRead(steps)).toBeLessThanOrEqual(rows)
  }
})

test.each(analysed)(
  'claims and settlements read no more than they take of tables %s',
  async (_name, how) => {
    const client = await filled(how)
    const own = { holder: 1, numbers: [], next: 1 }
    const floors = new ClaimFloors()
    const share = (destinationId: string, deliveriesMax: number): Share => {
      return { destinationId, deliveriesMax, lane: 'first', dueByMs: nowMs }
    }
    for (const deliveriesMax of [1, 10, 500]) {
      const lease = { holder: 1, number: 1, untilMs: nowMs + 60_000 }
      const shares = [share('crm', deliveriesMax)]
      const reads = await readsOf(client, claimQuery(shares, { nowMs, lease, own, floors }))
      expect(reads.map((step) => step['Node Type'])).toEqual(['Index Scan', 'Index Scan'])
      // Once to find them, once to lease them.
      expect(rowsRead(reads)).toBe(2 * deliveriesMax)
    }
    const leased = await client.query<{ readonly destination_id: string; readonly id: number }>(`
    UPDATE evroute_deliveries SET lease_holder = 1, lease = 1, leased_until = 1
    WHERE destination_id = 'crm' AND id BETWEEN 29001 AND 29300 AND state = 'pending'
    RETURNING destination_id, id::int`)
    const settlements = leased.rows.map(({ destination_id: destinationId, id }) => {
      const delivery = { destinationId, id, lease: 1 } as LeasedDelivery
      return { kind: 'delivered', delivery, attempts: 1 } as const
    })
    const ends = await readsOf(client, settleQuery({ nowMs, holder: 1, settlements, requests: [] }))
    // Once to settle them, once for each request that is logged.
    const key = 'evroute_deliveries_pkey'
    expect(ends.map((step) => step['Index Name'])).toEqual([key, key])
    expect(rowsRead(ends)).toBe(settlements.length)
    const looks = await readsOf(client, nextDueQuery(['crm', 'down'], { nowMs, own, floors }))
    expect(looks.map((step) => step['Index Name'])).toEqual(['evroute_deliveries_waiting'])
    expect(rowsRead(looks)).toBeLessThanOrEqual(6)
  },
)
