import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { NewEvent } from '../../../src/delivery/index.ts'
import { stopwatch } from '../../../src/runtime/index.ts'
import { openDatabase } from '../../../src/store/sqlite/database.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/index.ts'
import { openThreadedStore } from '../../../src/store/threaded/threaded-store.ts'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { p99 } from '../p99.ts'
import type { PressureFinding, PressureScenario } from '../scenario.ts'

const deliveries = 1_000_000
const destinations = 5_000
const nowMs = 1_700_000_000_000

/** Queries, a purge and a checkpoint by another program, during adds to a large file. */
export const scenario: PressureScenario = {
  title: `queries, a purge and another program's checkpoint during adds; ${deliveries} deliveries to ${destinations} destinations`,
  run: async () => {
    await using folder = await scratchFolder()
    const path = join(folder.path, 'store.db')
    await (await SqliteStore.open(path)).close()
    await fill(path)
    const { size } = await stat(path)
    const store = await openThreadedStore(path)
    try {
      return [
        ...(await queryDuringAdds(store)),
        await checkpointDuringAdds(store, { path, size }),
        await purgeAll(store),
      ]
    } finally {
      await store.close()
    }
  },
}

/** Every fiftieth delivery failed long ago; the others were delivered just now. */
async function fill(path: string): Promise<void> {
  const database = await openDatabase(path, 'write')
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${deliveries})`
  const body = `'{"n":"' || hex(zeroblob(150)) || '"}'`
  database.exec(`
    PRAGMA synchronous = OFF; BEGIN;
    ${numbers} INSERT INTO messages SELECT i, 1, ${body} FROM n;
    ${numbers} INSERT INTO deliveries (id, destination_id, source_id, message_id, type, user_id, previous_id,
        body_id, state, lane, accepted_at, due_at, attempts, window_attempts, first_attempt_at, expires_at,
        holds, reason, settled_at, manual_retries)
      SELECT i, 'hook-' || (i / 50 % ${destinations}), 'website', 'm_' || i, 'track', 'u_' || i, NULL, i,
        iif(i % 50 = 0, 'failed', 'delivered'), 'first', ${nowMs} + i, ${nowMs} + i, 1, 1, NULL, NULL, '[]',
        NULL, iif(i % 50 = 0, 1, ${nowMs}), 0 FROM n;
    INSERT INTO counts VALUES ('', 'ids', ${deliveries});
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
  database.close()
}

async function queryDuringAdds(store: Store): Promise<readonly PressureFinding[]> {
  const quiet = await addAll(store, 'quiet')
  let isOver = false
  const [lookUpsMs, auditsMs]: [number[], number[]] = [[], []]
  const audit = async (): Promise<void> => {
    while (!isOver) auditsMs.push(await timed(() => store.audit()))
  }
  const lookUp = async (): Promise<void> => {
    for (let turn = 1; !isOver; turn++) {
      const number = 1 + ((turn * 7_919) % deliveries)
      const filter = turn % 2 === 0 ? { messageId: `m_${number}` } : { userId: `u_${number}` }
      lookUpsMs.push(await timed(() => store.list({ filter, limit: 10 })))
    }
  }
  const queries = [audit(), lookUp()]
  const busy = await addAll(store, 'busy')
  isOver = true
  await Promise.all(queries)
  return [
    {
      must: 'the p99 of an add during an audit and look-ups is at most 250 ms',
      measured: `${p99(busy)} ms, ${p99(quiet)} ms without; ${auditsMs.length} audits of ${p99(auditsMs)} ms`,
      holds: p99(busy) <= 250,
    },
    {
      must: 'the p99 of a look-up by messageId or user during an audit is at most 500 ms',
      measured: `${p99(lookUpsMs)} ms of ${lookUpsMs.length}`,
      holds: p99(lookUpsMs) <= 500,
    },
  ]
}

async function checkpointDuringAdds(
  store: Store,
  { path, size }: { readonly path: string; readonly size: number },
): Promise<PressureFinding> {
  const waitedMs: number[] = []
  for (let turn = 0; turn < 20; turn++) {
    await addOne(store, `before_${turn}`)
    const tool = await openDatabase(path, 'write')
    tool.exec('PRAGMA wal_checkpoint(PASSIVE)')
    tool.close()
    waitedMs.push(await timed(() => addOne(store, `after_${turn}`)))
  }
  return {
    must: "an add after another program's checkpoint takes at most 250 ms",
    measured: `${p99(waitedMs)} ms at most, with a file of ${Math.round(size / 1e6)} MB`,
    holds: p99(waitedMs) <= 250,
  }
}

async function purgeAll(store: Store): Promise<PressureFinding> {
  const request = {
    nowMs,
    deliveredBeforeMs: 0,
    failedBeforeMs: nowMs - 1,
    abandonedBeforeMs: 0,
    messageIdsBeforeMs: 0,
    rowsMax: 200,
  }
  const transactionsMs: number[] = []
  let purged = 0
  const elapsedMs = stopwatch()
  for (let rows = 1; rows > 0; purged += rows) {
    transactionsMs.push(
      await timed(async () => {
        rows = (await store.purge(request)).rows
      }),
    )
  }
  const perSecond = Math.round(purged / (elapsedMs() / 1_000))
  return {
    must: `a purge among ${destinations} destinations deletes at least 2,000 rows/s`,
    measured: `${perSecond} rows/s, p99 of a transaction of 200 rows ${p99(transactionsMs)} ms`,
    holds: perSecond >= 2_000 && purged === deliveries / 50,
  }
}

async function addAll(store: Store, name: string): Promise<readonly number[]> {
  const waitedMs: number[] = []
  const elapsedMs = stopwatch()
  for (let turn = 0; elapsedMs() < 8_000; turn++) {
    waitedMs.push(await timed(() => addOne(store, `${name}_${turn}`)))
  }
  return waitedMs
}

async function addOne(store: Store, messageId: string): Promise<void> {
  const deliveries = [{ destinationId: 'hook-1', body: '{}' }]
  const origin = { sourceId: 'website', messageId, type: 'track', userId: 'u_new' } as const
  const events: readonly NewEvent[] = [{ ...origin, deliveries }]
  await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const elapsedMs = stopwatch()
  await work()
  return elapsedMs()
}
