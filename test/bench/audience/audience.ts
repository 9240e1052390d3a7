import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { syncAudience, type NewAudience, type SyncCounts } from '../../../dist/audience/index.js'
import { openInput, readTable } from '../../../dist/importer/index.js'
import { createRuntime, stopwatch } from '../../../dist/runtime/index.js'
import { openStore, type Store } from '../../../dist/store/index.js'
import { checkDestination } from '../../../dist/webhook/index.js'
import { scratchFolder } from '../../support/scratch-folder.ts'
import type { BenchCase, BenchReport } from '../report.ts'

const membersMax = 1_000_000
const sampleEvery = 20_000

const audience: NewAudience = {
  key: 'first_time_shopper',
  name: 'First Time Shopper',
  computationClass: 'audience',
  computationId: 'aud_notarealcomputation00000000',
  sourceId: 'website',
}

const destination = checkDestination({
  id: 'crm',
  sourceIds: ['website'],
  endpoints: [{ url: 'http://127.0.0.1:9/' }],
})

interface List {
  readonly name: string
  /** The number of the first member; members are numbered in sequence. */
  readonly from: number
}

/** A list, the same list again, and one in which 1 % of the members are new and 1 % have left. */
const lists: readonly List[] = [
  { name: 'all enter', from: 0 },
  { name: 'nothing changes', from: 0 },
  { name: '1 % changes', from: membersMax / 100 },
]

interface Figures {
  readonly list: List
  readonly counts: SyncCounts
  readonly seconds: number
  /** Resident memory, sampled every 20,000 rows. */
  readonly memoryMb: readonly number[]
}

/**
 * Measures how fast a million members are synced from a file, with one destination, and how much memory it
 * takes.
 */
export async function benchAudience(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const store = await openStore(`sqlite:${join(folder.path, 'store.db')}`)
  const results: Figures[] = []
  for (const list of lists) {
    const path = join(folder.path, 'members.csv')
    await pipeline(Readable.from(linesOf(list)), createWriteStream(path))
    results.push(await measure(store, list, path))
  }
  const { counted } = await store.audit()
  await store.close()
  return report(results, counted.pending)
}

function* linesOf({ from }: List): Generator<string> {
  yield 'userId,email\n'
  for (let number = from; number < from + membersMax; number++) {
    yield `u_${number},member-${number}@example.com\n`
  }
}

async function measure(store: Store, list: List, path: string): Promise<Figures> {
  const memoryMb: number[] = []
  let sampledAt = 0
  const elapsedMs = stopwatch()
  const progress = ({ read }: SyncCounts): void => {
    if (read - sampledAt < sampleEvery) return
    sampledAt = read
    memoryMb.push(process.memoryUsage.rss() / 1024 / 1024)
    if (!process.stderr.isTTY) return
    const perSecond = Math.round((read / elapsedMs()) * 1_000)
    process.stderr.write(`\r${list.name}: ${read} rows, ${perSecond}/s `)
  }
  const outcome = await syncAudience({
    store: store.audiences,
    audience,
    destinations: [destination],
    rows: readTable(await openInput(path, process.stdin), 'Make the list first.'),
    columns: { userIds: [], value: undefined },
    listener: { rejected: () => undefined, changed: () => undefined, progress },
    hasRoom: () => Promise.resolve(true),
    dedupeWindowMs: 24 * 3_600_000,
    runtime: createRuntime(),
    signal: new AbortController().signal,
  })
  if (process.stderr.isTTY) process.stderr.write('\n')
  if (outcome.kind !== 'synced') throw new Error(`The sync ended without a result: ${outcome.kind}`)
  return { list, counts: outcome.counts, seconds: elapsedMs() / 1_000, memoryMb }
}

function report(results: readonly Figures[], pending: number): BenchReport {
  return {
    bench: 'audience',
    measured: `${membersMax.toLocaleString('en')} members from CSV into SQLite (synchronous=FULL) with ${pending.toLocaleString('en')} deliveries to one destination, list after list`,
    cases: results.map(caseOf),
    mustReach: 'no more memory in the last tenth of a list than in the first',
  }
}

function caseOf({ list, counts, seconds, memoryMb }: Figures): BenchCase {
  const tenth = Math.ceil(memoryMb.length / 10)
  const most = (sampled: readonly number[]): number => Math.round(Math.max(...sampled))
  return {
    name: list.name,
    rate: counts.read / seconds,
    unit: 'rows/s',
    beside: {},
    figures: {
      entered: counts.entered,
      left: counts.left,
      firstTenthMb: most(memoryMb.slice(0, tenth)),
      lastTenthMb: most(memoryMb.slice(-tenth)),
    },
  }
}
