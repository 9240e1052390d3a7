import { escapeLiteral, type Client } from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import type {
  DeliveryFilter,
  LeasedDelivery,
  NewEvent,
  Share,
} from '../../../src/delivery/index.ts'
import { discard, giveUp, retry } from '../../../src/store/log/log-changes.ts'
import { addQuery } from '../../../src/store/postgres/add-statement.ts'
import { ClaimFloors } from '../../../src/store/postgres/claim-floors.ts'
import { claimQuery, nextDueQuery } from '../../../src/store/postgres/claim-statement.ts'
import { deliveriesAfter } from '../../../src/store/regulations/erasure-deliveries.ts'
import { RegulationNotifications } from '../../../src/store/regulations/regulation-notifications.ts'
import type { Query, Script, SqlValue } from '../../../src/store/sql.ts'
import { Database } from '../../../src/store/postgres/database.ts'
import { logEngine } from '../../../src/store/postgres/delivery-log.ts'
import { dialect } from '../../../src/store/postgres/dialect.ts'
import { listQuery } from '../../../src/store/postgres/delivery-log.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { settleQuery } from '../../../src/store/postgres/settle-statement.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { connect } from './store-calls.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

/** A step of a plan, as reported by EXPLAIN ANALYZE. */
interface PlanStep {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly Plans?: readonly PlanStep[]
}

/** Runs a statement with a custom or a generic plan, and returns its steps. */
async function stepsOf(
  client: Client,
  { sql, values }: Query,
  plan: 'custom' | 'generic' = 'custom',
): Promise<readonly PlanStep[]> {
  const explain = 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON)'
  const custom = { text: `${explain} ${sql}`, values: [...values] }
  await client.query('BEGIN')
  if (plan === 'generic') {
    await client.query(`SET LOCAL plan_cache_mode = force_generic_plan; PREPARE generic AS ${sql}`)
  }
  const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: PlanStep }[] }>(
    plan === 'custom'
      ? custom
      : { text: `${explain} EXECUTE generic (${values.map(literalOf).join(', ')})` },
  )
  await client.query('ROLLBACK')
  if (plan === 'generic') await client.query('DEALLOCATE generic')
  return allSteps(rows[0]!['QUERY PLAN'][0]!.Plan)
}

/** Returns the steps that read deliveries. */
async function readsOf(...args: Parameters<typeof stepsOf>): Promise<readonly PlanStep[]> {
  return (await stepsOf(...args)).filter(
    (step) => step['Relation Name'] === 'evroute_deliveries' && step['Node Type'].includes('Scan'),
  )
}

/** Returns a value as a literal for EXECUTE. */
function literalOf(value: SqlValue): string {
  if (value === null) return 'NULL'
  if (!Array.isArray(value)) return escapeLiteral(String(value))
  const texts = value.map((each) => (each === null ? 'NULL' : JSON.stringify(String(each))))
  return escapeLiteral(`{${texts.join(', ')}}`)
}

function allSteps(step: PlanStep): readonly PlanStep[] {
  return [step, ...(step.Plans ?? []).flatMap(allSteps)]
}

/** Counts the rows that were read, including those that a filter removed. */
function rowsRead(steps: readonly PlanStep[]): number {
  return steps.reduce((sum, step) => {
    const rows = step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)
    return sum + rows * step['Actual Loops']
  }, 0)
}

const analysed = [
  ['that were analysed', 'ANALYZE'],
  ['that were analysed while nothing waited', 'nothing waits'],
  ['without statistics', 'never'],
] as const

/** Creates a store of 30,000 deliveries: a third due for crm, a third due for down, a third delivered to crm. */
async function filled(how: (typeof analysed)[number][1]): Promise<Client> {
  const url = await databases.newUrl()
  const store = await openPostgresStore(url)
  await store.close()
  const client = await connect(url)
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

test.each(analysed)(
  'look-ups use an index and read few other rows, in tables %s',
  async (_name, how) => {
    const client = await filled(how)
    await client.query(
      "INSERT INTO evroute_counts (destination_id, slot) VALUES ('crm', 0), ('down', 0)",
    )
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
      // A third of this user's deliveries have a different destination.
      [{ userId: 'busy', destinationId: 'crm' }, ofUser, 15],
      [{ states: ['failed', 'expired'] }, 'evroute_deliveries_ended', 0],
    ] as const) {
      const steps = await reads(filter)
      expect([filter, steps.map((step) => step['Index Name'])]).toEqual([filter, [index]])
      expect(rowsRead(steps)).toBeLessThanOrEqual(rows)
    }
  },
)

test.each(
  analysed.flatMap(([name, how]) => [
    [name, 'custom', how] as const,
    [name, 'generic', how] as const,
  ]),
)(
  'claims and settlements read only the rows that they change, in tables %s, with a %s plan',
  async (_name, plan, how) => {
    const client = await filled(how)
    const own = { holder: 1, numbers: [], next: 1 }
    const floors = new ClaimFloors()
    const share = (destinationId: string, deliveriesMax: number): Share => {
      return { destinationId, deliveriesMax, lane: 'first', dueByMs: nowMs }
    }
    for (const deliveriesMax of [1, 10, 500]) {
      const lease = { holder: 1, number: 1, untilMs: nowMs + 60_000 }
      const shares = [share('crm', deliveriesMax)]
      const reads = await readsOf(client, claimQuery(shares, { nowMs, lease, own, floors }), plan)
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
    const settle = settleQuery({ nowMs, settlements, requests: [] }, 1)
    const ends = await readsOf(client, settle, plan)
    // Once to settle them, once for each request that is logged.
    const key = 'evroute_deliveries_pkey'
    expect(ends.map((step) => step['Index Name'])).toEqual([key, key])
    expect(rowsRead(ends)).toBe(settlements.length)
    const looks = await readsOf(client, nextDueQuery(['crm', 'down'], { nowMs, own, floors }), plan)
    expect(looks.map((step) => step['Index Name'])).toEqual(['evroute_deliveries_waiting'])
    expect(rowsRead(looks)).toBeLessThanOrEqual(6)
  },
)

test.each(['custom', 'generic'] as const)(
  'an add compares no delivery with the bodies of other events, with a %s plan',
  async (plan) => {
    const client = await filled('never')
    const sequences = ['evroute_message_ids', 'evroute_delivery_ids']
    for (const name of sequences) await client.query(`SELECT setval('${name}', 30000)`)
    const destinationIds = Array.from({ length: 10 }, (_, index) => `destination_${index}`)
    const events = Array.from({ length: 500 }, (_, index): NewEvent => {
      const deliveries = destinationIds.map((destinationId) => ({ destinationId, body: '{}' }))
      const ids = { messageId: `m_of_batch_${index}`, sourceId: 'website', userId: 'u_1' }
      return { ...ids, previousId: '', type: 'track', deliveries }
    })
    const batch = { nowMs, seenSinceMs: nowMs, events, handOver: [] }
    const add = addQuery(batch, { holder: 1, number: 1, untilMs: nowMs + 60_000 })
    const steps = await stepsOf(client, add, plan)
    const compared = steps.map((step) => step['Rows Removed by Join Filter'] ?? 0)
    expect(Math.max(...compared)).toBeLessThan(events.length)
  },
)

/** Returns the queries of a script, and answers each with no rows. */
function* queriesOf(script: Script<unknown>): Generator<Query> {
  for (let step = script.next(); step.done !== true; step = script.next([])) yield step.value
}

test.each(analysed)(
  'manual changes and erasures read only the rows that they find, in tables %s',
  async (_name, how) => {
    const client = await filled(how)
    await client.query(`INSERT INTO evroute_counts (destination_id, slot) VALUES
      ('crm', 0), ('crm', 1), ('down', 0)`)
    const [waiting, ended] = ['evroute_deliveries_waiting', 'evroute_deliveries_ended']
    const key = 'evroute_deliveries_pkey'
    const crm = { nowMs, filter: { destinationId: 'crm' }, limit: 10 }
    const all = { ...crm, filter: {} }
    const before = { deliveredBeforeMs: 0, failedBeforeMs: 0, messageIdsBeforeMs: 0 }
    const purge = { ...before, nowMs, abandonedBeforeMs: nowMs + 1, rowsMax: 10 }
    const notifications = (pending: number) => {
      const streams = ['crm', 'down'].map((destinationId) => ({ destinationId, pending }))
      const row = { streams: JSON.stringify(streams), last_notification_id: 30_000 }
      return new RegulationNotifications(row, dialect)
    }
    const start = { destination_id: 'crm', id: 0 }
    for (const [script, indexes, rows] of [
      [discard(logEngine, crm), [waiting, waiting, waiting], 10],
      [discard(logEngine, all), [waiting, waiting, waiting], 20],
      [retry(logEngine, crm), [ended, ended, waiting], 0],
      [retry(logEngine, all), [ended, ended, waiting], 0],
      [giveUp(logEngine, purge), ['evroute_deliveries_expiring', waiting, waiting], 20],
      [notifications(14_950).isAnyLeft(), [key], 4],
      [notifications(14_950).unerased(0, { idsMax: 10, rowsMax: 10 }), [key], 10],
      [notifications(5).streams(), [key], 10],
      [deliveriesAfter(start, { lastId: 30_000, rowsMax: 10 }), [key], 10],
    ] as const) {
      const steps: PlanStep[] = []
      for (const query of queriesOf(script)) steps.push(...(await readsOf(client, query)))
      expect(steps.map((step) => step['Index Name'])).toEqual(indexes)
      expect(rowsRead(steps)).toBeLessThanOrEqual(rows)
    }
  },
)

test.each(analysed)(
  'a manual retry continues after the rows that it searched before, in tables %s',
  async (_name, how) => {
    const client = await filled(how)
    await client.query(`
      INSERT INTO evroute_counts (destination_id, slot) VALUES ('crm', 0), ('down', 0);
      UPDATE evroute_deliveries SET state = 'failed', reason = 'status_500', settled_at = id,
        type = CASE WHEN id > 20000 THEN 'page' ELSE 'track' END`)
    if (how === 'ANALYZE') await client.query('ANALYZE')
    const after = { range: 0, destinationId: 'crm', atMs: 20_000 }
    const request = { nowMs, filter: { types: ['page'] as const }, limit: 10, after }
    const [first] = queriesOf(retry(logEngine, request))
    const reads = await readsOf(client, first!)
    expect(reads.map((step) => step['Index Name'])).toEqual(['evroute_deliveries_ended'])
    expect(rowsRead(reads)).toBeLessThanOrEqual(12)
  },
)

test('a manual retry of a user or a messageId reads no other failed deliveries', async () => {
  const client = await filled('never')
  await client.query(`
    INSERT INTO evroute_counts (destination_id, slot) VALUES ('crm', 0), ('down', 0);
    UPDATE evroute_deliveries SET state = 'failed', reason = 'status_500', settled_at = ${nowMs};
    ANALYZE`)
  for (const filter of [{ userId: 'u_7' }, { messageId: 'm_7' }]) {
    const steps: PlanStep[] = []
    for (const query of queriesOf(retry(logEngine, { nowMs, filter, limit: 10 }))) {
      steps.push(...(await readsOf(client, query)))
    }
    expect(rowsRead(steps)).toBeLessThanOrEqual(6)
  }
})

test('a small batch gets a generic plan, and a large one a custom plan', async () => {
  const database = new Database(await databases.newUrl(), {
    connectionsMax: 1,
    isReadOnly: false,
    keepsPlans: true,
  })
  onTestFinished(() => database.close())
  const count = (rows: number): Promise<unknown> =>
    database.rows({
      name: `count_${rows}`,
      sql: 'SELECT count(*) FROM unnest($1::int[])',
      values: [Array.from({ length: rows }, (_, index) => index)],
    })
  for (let time = 0; time < 10; time++) for (const rows of [100, 101]) await count(rows)
  const sql = `SELECT name, generic_plans > 0 AS "isGeneric" FROM pg_prepared_statements`
  expect(await database.rows({ sql, values: [] })).toEqual([
    { name: 'evroute_count_100', isGeneric: true },
  ])
})
