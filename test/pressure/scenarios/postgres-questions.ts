import { Client } from 'pg'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { stopwatch, systemClock } from '../../../src/runtime/index.ts'
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { PostgresServer } from '../../support/postgres.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const deliveries = 500_000
const lookUps = 14
const adds = 300

/** Many questions at once, and an audit, while events are added to a store with many deliveries. */
export const scenario: PressureScenario = {
  title: `${lookUps} look-ups at a time and an audit beside adds, ${deliveries} deliveries stored`,
  run: async () => {
    const server = await PostgresServer.start(['fsync=on', 'autovacuum=off', 'max_wal_size=4GB'])
    const store = await PostgresStore.open(server.url())
    try {
      await fill(server.url())
      const quiet = await addAll(store, 'quiet')
      const asking = new Questions(store)
      const beside = await addAll(store, 'beside')
      const { lookUpsMs, audits } = await asking.end()
      return findingsOf({ quiet, beside, lookUpsMs, audits })
    } finally {
      await store.close()
      await server.end()
    }
  },
}

function findingsOf(measured: {
  readonly quiet: readonly number[]
  readonly beside: readonly number[]
  readonly lookUpsMs: readonly number[]
  readonly audits: number
}): readonly PressureFinding[] {
  const [quiet, beside] = [p99(measured.quiet), p99(measured.beside)]
  const lookUp = p99(measured.lookUpsMs)
  return [
    {
      must: 'the p99 of an add beside questions is at most 500 ms',
      measured: `${beside.toFixed(0)} ms, ${quiet.toFixed(0)} ms without`,
      holds: beside <= 500,
    },
    {
      must: 'the p99 of a look-up by messageId or user is at most 500 ms',
      measured: `${lookUp.toFixed(0)} ms of ${measured.lookUpsMs.length}, beside ${measured.audits} audits`,
      holds: lookUp <= 500 && measured.lookUpsMs.length >= lookUps,
    },
  ]
}

/** Asks one question after the other, several at a time, until it is told to end. */
class Questions {
  readonly #store: PostgresStore
  readonly #lookUpsMs: number[] = []
  readonly #asking: readonly Promise<void>[]
  #audits = 0
  #isOver = false

  constructor(store: PostgresStore) {
    this.#store = store
    const lookers = Array.from({ length: lookUps }, (_, place) => this.#lookUp(place))
    this.#asking = [this.#audit(), ...lookers]
  }

  async end(): Promise<{ readonly lookUpsMs: readonly number[]; readonly audits: number }> {
    this.#isOver = true
    await Promise.all(this.#asking)
    return { lookUpsMs: this.#lookUpsMs, audits: this.#audits }
  }

  async #lookUp(place: number): Promise<void> {
    for (let turn = place; !this.#isOver; turn++) {
      const number = 1 + ((turn * 7_919) % deliveries)
      const filter = turn % 2 === 0 ? { messageId: `m_${number}` } : { userId: `u_${number}` }
      const elapsedMs = stopwatch()
      const found = await this.#store.list({ filter, limit: 50 })
      this.#lookUpsMs.push(elapsedMs())
      if (found.length === 0) throw new Error(`Nothing was found of ${JSON.stringify(filter)}`)
    }
  }

  async #audit(): Promise<void> {
    while (!this.#isOver) {
      await this.#store.audit()
      this.#audits++
    }
  }
}

/** Adds events, some at a time, and says how long each add took. */
async function addAll(store: PostgresStore, name: string): Promise<readonly number[]> {
  const took: number[] = []
  const addOne = async (place: number): Promise<void> => {
    const event: NewEvent = {
      sourceId: 'website',
      messageId: `${name}_${place}`,
      type: 'track',
      userId: `u_${place}`,
      deliveries: [{ destinationId: `d_${place % 10}`, body: '{}' }],
    }
    const elapsedMs = stopwatch()
    await store.add({ nowMs: systemClock.nowMs(), seenSinceMs: 0, events: [event], handOver: [] })
    took.push(elapsedMs())
  }
  for (let place = 0; place < adds; place += 4) {
    await Promise.all([0, 1, 2, 3].map((more) => addOne(place + more)))
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

function p99(took: readonly number[]): number {
  const sorted = took.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Infinity
}
