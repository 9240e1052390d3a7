import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Destination } from '../../src/model/index.ts'
import { openStore } from '../../src/store/index.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { measure, type Measurement } from './load.ts'
import { startReceiver } from './start-receiver.ts'
import { median, ratio, table } from './table.ts'

const backlog = 1_000_000
const events = 20_000
const rounds = 3
const batchSize = 2_500

type Variant = 'empty store' | '1,000,000 parked'

/** What a store with a million deliveries to a dead endpoint costs those that go elsewhere. */
export async function benchBacklog(): Promise<string> {
  const receiver = await startReceiver()
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  const healthy = checkDestination({
    id: 'healthy',
    sourceIds: ['healthy'],
    endpoints: [{ url: `${receiver.origin}/ok` }],
    concurrency: 50,
  })
  // Nothing listens on the port for sockets that discard, so that the breaker opens at once.
  const dead = checkDestination({
    id: 'dead',
    sourceIds: ['dead'],
    endpoints: [{ url: 'http://127.0.0.1:9/' }],
  })
  const results: Record<Variant, Measurement[]> = { 'empty store': [], '1,000,000 parked': [] }
  const order: readonly Variant[] = ['empty store', '1,000,000 parked']
  try {
    const full = join(folder, 'full.db')
    await fill(full)
    // What is compiled and opened on the way is nobody's cost.
    await measureOnce(join(folder, 'warm-up.db'), healthy, dead)
    for (let round = 0; round < rounds; round++) {
      for (const variant of round % 2 === 0 ? order : order.toReversed()) {
        const path = join(folder, 'store.db')
        if (variant === '1,000,000 parked') await copyFile(full, path)
        results[variant].push(await measureOnce(path, healthy, dead))
        await removeStore(path)
      }
    }
  } finally {
    receiver.stop()
    await rm(folder, { recursive: true })
  }
  return report(results)
}

/** Stores the deliveries that nobody takes. */
async function fill(path: string): Promise<void> {
  const store = await openStore(`sqlite:${path}`)
  const body = JSON.stringify({ type: 'track', note: 'x'.repeat(400) })
  for (let from = 0; from < backlog; from += batchSize) {
    const events = Array.from({ length: batchSize }, (_, index) => ({
      sourceId: 'dead',
      messageId: `parked-${from + index}`,
      type: 'track' as const,
      userId: 'user-1',
      deliveries: [{ destinationId: 'dead', body }],
    }))
    await store.add({ nowMs: Date.UTC(2100, 0, 1), seenSinceMs: 0, events, handOver: [] })
  }
  await store.close()
}

function measureOnce(path: string, healthy: Destination, dead: Destination): Promise<Measurement> {
  const destinations = [healthy, dead]
  return measure({ path, destinations, fed: [healthy], measured: new Set(['healthy']), events })
}

async function removeStore(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-lock']) await rm(path + suffix, { force: true })
}

function report(results: Readonly<Record<Variant, readonly Measurement[]>>): string {
  const rows = (['empty store', '1,000,000 parked'] as const).map((variant) => ({
    variant,
    perSecond: median(results[variant].map(({ perSecond }) => perSecond)),
    p99: median(results[variant].map(({ p99Ms }) => p99Ms)),
    rss: Math.max(...results[variant].map(({ rssMb }) => rssMb)),
  }))
  const [empty, full] = rows
  return [
    `Backlog: ${events} events to a healthy destination, medians of ${rounds} rounds`,
    table(
      ['', 'delivered/s', 'p99', 'memory'],
      rows.map(({ variant, perSecond, p99, rss }) => [
        variant,
        perSecond.toFixed(0),
        `${p99.toFixed(1)} ms`,
        `${rss.toFixed(0)} MB`,
      ]),
    ),
    `throughput ${ratio(full?.perSecond, empty?.perSecond)} (at least 0.8), memory ${full?.rss.toFixed(0) ?? ''} MB (at most 400)`,
  ].join('\n')
}
