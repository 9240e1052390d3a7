import { Client } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Share } from '../../../src/delivery/index.ts'
import { claimQuery, nextDueQuery } from '../../../src/store/postgres/claim-statement.ts'
import { sessionUrl } from '../../../src/store/postgres/connection-url.ts'
import type { Query } from '../../../src/store/postgres/database.ts'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
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

test.each([
  ['that were analysed', true],
  ['of which the planner knows nothing', false],
])('a claim reads no more than it takes of tables %s', async (_name, isAnalysed) => {
  const url = await databases.newUrl()
  const store = await PostgresStore.open(url)
  await store.close()
  const client = new Client({ connectionString: sessionUrl(url, { isReadOnly: false }) })
  await client.connect()
  onTestFinished(() => client.end())
  // A third each: due for crm, parked for down, delivered to crm.
  await client.query(`
    INSERT INTO evroute_messages SELECT number, 1, 'x' FROM generate_series(1, 30000) AS number;
    INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, attempts,
      window_attempts, manual_retries, source_id, message_id, type, state, lane, holds, settled_at)
    SELECT CASE number % 3 WHEN 1 THEN 'down' ELSE 'crm' END, number, number, ${nowMs}, ${nowMs}, 0,
      0, 0, 'website', 'm_' || number, 'track', CASE number % 3 WHEN 2 THEN 'delivered' ELSE 'pending' END,
      'first', '[]', CASE number % 3 WHEN 2 THEN ${nowMs} END
    FROM generate_series(1, 30000) AS number`)
  if (isAnalysed) await client.query('ANALYZE')
  const own = { holder: 1, numbers: [] }
  const share = (destinationId: string, deliveriesMax: number): Share => {
    return { destinationId, deliveriesMax, lane: 'first', dueByMs: nowMs }
  }
  for (const deliveriesMax of [1, 10, 500]) {
    const lease = { holder: 1, number: 1, untilMs: nowMs + 60_000 }
    const shares = [share('crm', deliveriesMax), share('mail', deliveriesMax)]
    const reads = await readsOf(client, claimQuery(shares, { nowMs, lease, own }))
    expect(reads.map((step) => step['Node Type'])).toEqual(['Index Scan', 'Index Scan'])
    // Once to find them, once to lease them.
    expect(rowsRead(reads)).toBe(2 * deliveriesMax)
  }
  const looks = await readsOf(client, nextDueQuery(['crm', 'down'], { nowMs, own }))
  expect(looks.map((step) => step['Index Name'])).toEqual(['evroute_deliveries_waiting'])
  expect(rowsRead(looks)).toBeLessThanOrEqual(6)
})
