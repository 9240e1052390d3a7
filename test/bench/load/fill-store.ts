import { randomUUID } from 'node:crypto'
import { leasedOf, type NewEvent } from '../../../dist/delivery/index.js'
import { systemClock } from '../../../dist/runtime/index.js'
import { openStore, type Store } from '../../../dist/store/index.js'
import { sampleBody } from '../sample-webhook.ts'
import { multiplyStore } from './multiply-store.ts'

/** Deliveries that a store holds before a measurement. */
export interface StoredWork {
  readonly destinationId: string
  readonly count: number
  /** Whether they are waiting, or delivered with their request in the log. */
  readonly state: 'pending' | 'delivered'
}

/** Deliveries per write (about 10 MB), and the most that are written through the store. */
const batchSize = 10_000

/**
 * Writes deliveries: up to 10,000 through the store, and the rest as copies of them, which is several times
 * as fast. Each count must be divisible by the number of copies.
 */
export async function fillStore(path: string, work: readonly StoredWork[]): Promise<void> {
  const total = work.reduce((sum, { count }) => sum + count, 0)
  const times = Math.max(1, Math.ceil(total / batchSize))
  await writeAll(
    path,
    work.map((each) => ({ ...each, count: each.count / times })),
  )
  if (times > 1) multiplyStore(path, times)
}

async function writeAll(path: string, work: readonly StoredWork[]): Promise<void> {
  const store = await openStore(`sqlite:${path}`)
  try {
    for (const { destinationId, count, state } of work) {
      for (let from = 0; from < count; from += batchSize) {
        const events = newEvents(destinationId, Math.min(batchSize, count - from))
        await addBatch(store, { destinationId, events, isDelivered: state === 'delivered' })
      }
    }
  } finally {
    await store.close()
  }
}

interface Batch {
  readonly destinationId: string
  readonly events: readonly NewEvent[]
  readonly isDelivered: boolean
}

async function addBatch(
  store: Store,
  { destinationId, events, isDelivered }: Batch,
): Promise<void> {
  const nowMs = systemClock.nowMs()
  const handOver = isDelivered ? [{ destinationId, deliveriesMax: events.length }] : []
  const batch = { nowMs, seenSinceMs: 0, events, handOver }
  const { leased } = await store.add(batch)
  const url = 'http://127.0.0.1:9/'
  const firstTry = { url, atMs: nowMs, durationMs: 2, status: 200, excerpt: 'ok' }
  await store.settle({
    nowMs,
    settlements: leasedOf(batch, leased).map((delivery) => {
      return { kind: 'delivered', delivery, attempts: 1, firstTry }
    }),
    requests: [],
  })
}

function newEvents(destinationId: string, length: number): readonly NewEvent[] {
  return Array.from({ length }, () => {
    const messageId = randomUUID()
    const deliveries = [{ destinationId, body: sampleBody(messageId) }]
    return { sourceId: destinationId, messageId, type: 'track', userId: 'user-1', deliveries }
  })
}
