import { Client } from 'pg'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { stopwatch, systemClock } from '../../../src/runtime/index.ts'
import {
  openPostgresStore,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts'
import { PostgresServer } from '../../support/postgres.ts'
import { p99 } from '../p99.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const deliveries = 500_000
const lookUps = 14
const adds = 300

/** Many concurrent look-ups, and an audit, while events are added to a store with many deliveries. */
export const scenario: PressureScenario = {
  title: `${lookUps} concurrent look-ups and an audit during adds; ${deliveries} deliveries stored`,
  run: async () => {
    const server = await PostgresServer.start(['fsync=on', 'autovacuum=off', 'max_wal_size=4GB'])
    const store = await openPostgresStore(server.url())
    try {
      await fill(server.url())
      const quiet = await addAll(store, 'quiet')
      const queries = new Queries(store)
      const busy = await addAll(store, 'busy')
      const { lookUpsMs, audits } = await queries.end()
      return findingsOf({ quiet, busy, lookUpsMs, audits })
    } finally {
      await store.close()
      await server.end()
    }
  },
}

function findingsOf(measured: {
  readonly quiet: readonly number[]
  readonly busy: readonly number[]
  readonly lookUpsMs: readonly number[]
  readonly audits: number
}): readonly PressureFinding[] {
  const [quiet, busy] = [p99(measured.quiet), p99(measured.busy)]
  const lookUp = p99(measured.lookUpsMs)
  return [
    {
      must: 'the p99 of an add during look-ups and audits is at most 500 ms',
      measured: `${busy} ms, ${quiet} ms without`,
      holds: busy <= 500,
    },
    {
      must: 'the p99 of a look-up by messageId or user is at most 500 ms',
      measured: `${lookUp} ms of ${measured.lookUpsMs.length}, during ${measured.audits} audits`,
      holds: lookUp <= 500 && measured.lookUpsMs.length >= lookUps,
    },
  ]
}

/** Runs look-ups and audits in loops, several at once, until {@link end}. */
class Queries {
  readonly #store: PostgresStore
  readonly #lookUpsMs: number[] = []
  readonly #running: readonly Promise<void>[]
  #audits = 0
  #isOver = false

  constructor(store: PostgresStore) {
    this.#store = store
    const lookUpLoops = Array.from({ length: lookUps }, (_, index) => this.#lookUp(index))
    this.#running = [this.#audit(), ...lookUpLoops]
  }

  async end(): Promise<{ readonly lookUpsMs: readonly number[]; readonly audits: number }> {
    this.#isOver = true
    await Promise.all(this.#running)
    return { lookUpsMs: this.#lookUpsMs, audits: this.#audits }
  }

  async #lookUp(index: number): Promise<void> {
    for (let turn = index; !this.#isOver; turn++) {
      const number = 1 + ((turn * 7_919) % deliveries)
      const filter = turn % 2 === 0 ? { messageId: `m_${number}` } : { userId: `u_${number}` }
      const elapsedMs = stopwatch()
      const found = await this.#store.list({ filter, limit: 50 })
      this.#lookUpsMs.push(elapsedMs())
      if (found.length === 0) throw new Error(`Nothing was found for ${JSON.stringify(filter)}`)
    }
  }

  async #audit(): Promise<void> {
    while (!this.#isOver) {
      await this.#store.audit()
      this.#audits++
    }
  }
}

/** Adds events, four at a time, and returns how long each add took. */
async function addAll(store: PostgresStore, name: string): Promise<readonly number[]> {
  const took: number[] = []
  const addOne = async (index: number): Promise<void> => {
    const event: NewEvent = {
      sourceId: 'website',
      messageId: `${name}_${index}`,
      type: 'track',
      userId: `u_${index}`,
      deliveries: [{ destinationId: `d_${index % 10}`, body: '{}' }],
    }
    const elapsedMs = stopwatch()
    await store.add({ nowMs: systemClock.nowMs(), seenSinceMs: 0, events: [event], handOver: [] })
    took.push(elapsedMs())
  }
  for (let index = 0; index < adds; index += 4) {
    await Promise.all([0, 1, 2, 3].map((more) => addOne(index + more)))
  }
  return took
}

async function fill(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const nowMs = systemClock.nowMs()
  await client.query(`
    INSERT INTO evroute_counts (destination_id, slot, accepted, routed, deliveries, delivered)
    SELECT 'd_' || number, 0, ${deliveries / 10}, ${deliveries / 10}, ${deliveries / 10}, ${deliveries / 10}
    FROM generate_series(0, 9) AS number;
    INSERT INTO evroute_messages
    SELECT nextval('evroute_message_ids'), 1, repeat('x', 200) FROM generate_series(1, ${deliveries});
    INSERT INTO evroute_deliveries (destination_id, id, body_id, accepted_at, due_at, attempts,
      window_attempts, manual_retries, source_id, message_id, type, user_id, state, lane, holds, settled_at)
    SELECT 'd_' || number % 10, nextval('evroute_delivery_ids'), number, ${nowMs}, ${nowMs}, 1, 0, 0,
      'website', 'm_' || number, 'track', 'u_' || number, 'delivered', 'first', '[]', ${nowMs}
    FROM generate_series(1, ${deliveries}) AS number`)
  await client.query('ANALYZE')
  await client.end()
}
