// Delivers from a store while the size of files is limited, and prints the results of its calls.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LeasedDelivery } from '../../../src/delivery/index.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'

const nowMs = 1_000
const tooLong = 'x'.repeat(1_000_000)
const [path = '', limited] = process.argv.slice(2)
if (limited === undefined) limitFiles()
else process.stdout.write(JSON.stringify(await useStore()))

/** Restarts this program from a shell that sets the limit, because Node cannot set it. */
function limitFiles(): void {
  const node = [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url)]
  const script = 'ulimit -f 800 && exec "$@"'
  spawnSync('sh', ['-c', script, 'sh', ...node, path, 'limited'], { stdio: 'inherit' })
}

async function useStore(): Promise<unknown> {
  const store = await SqliteStore.open(path)
  const share = { destinationId: 'crm', lane: 'first' as const, deliveriesMax: 9, dueByMs: nowMs }
  const answers = [await answer(add(store, ['m_1', 'm_2'], '{}'))]
  answers.push(await answer(add(store, ['m_big'], tooLong)))
  const claimed = await store.claim({ nowMs, shares: [share] })
  answers.push(claimed.map(({ messageId }) => messageId))
  answers.push(await answer(settle(store, claimed, tooLong)))
  answers.push(await answer(settle(store, claimed, '')))
  answers.push(await answer(add(store, ['m_3'], '{}')))
  await store.close()
  return answers
}

async function add(store: SqliteStore, ids: readonly string[], body: string): Promise<unknown> {
  const deliveries = [{ destinationId: 'crm', body }]
  const events = ids.map((messageId) => {
    return { sourceId: 'website', messageId, type: 'track' as const, userId: null, deliveries }
  })
  return (await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })).outcomes
}

async function settle(
  store: SqliteStore,
  claimed: readonly LeasedDelivery[],
  excerpt: string,
): Promise<unknown> {
  const settlements = claimed.map((delivery) => {
    return { kind: 'delivered' as const, delivery, attempts: 1 }
  })
  const requests = claimed.map(({ id, destinationId, messageId }) => ({
    destinationId,
    deliveryId: id,
    messageId,
    url: 'https://example.com/',
    lane: 'first' as const,
    attempt: 1,
    atMs: nowMs,
    outcome: 'success' as const,
    status: 200,
    error: null,
    durationMs: 1,
    excerpt,
  }))
  await store.settle({ nowMs, settlements, requests })
  return 'settled'
}

async function answer(answered: Promise<unknown>): Promise<unknown> {
  try {
    return await answered
  } catch (error) {
    const { name, code, message, hint } = error as Error & { code: string; hint: string }
    return { name, code, message, hint }
  }
}
