import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { inTurn } from '../in-turn.ts'
import { removeStore } from '../load/remove-store.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { median } from '../table.ts'
import type { BareReplayAnswer, BareReplayQuestion } from './bare-replay.ts'
import { plannedBodies, replay } from './command.ts'
import { Histories } from './history.ts'

const rows = 20_000
const rounds = 5
/** Requests that a command has in flight per endpoint. */
const connections = 10

const stores = ['memory:', 'sqlite:'] as const
const names = [...stores, 'limit'] as const
type Name = (typeof names)[number]

/**
 * Measures how fast the rows of a file become settled webhooks, compared with a loop that only signs and
 * posts them.
 */
export async function benchReplayDelivered(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const sink = await Sink.start()
  try {
    const path = await new Histories(folder.path).of(rows, 'plain')
    const bodies = await plannedBodies(path, `${sink.origin}/`)
    const bodiesPath = join(folder.path, 'bodies')
    await writeFile(bodiesPath, bodies.join('\n'))
    const bodyBytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0)
    const expected = JSON.stringify({ requests: rows, signed: rows, bodyBytes })
    const results = await inTurn(names, rounds, async (name) => {
      const measured =
        name === 'limit'
          ? await bareReplay({ path: bodiesPath, origin: sink.origin, connections })
          : await replayInto(name, { path, folder: folder.path, origin: sink.origin })
      const arrivals = JSON.stringify(await sink.arrivals())
      if (arrivals !== expected) throw new Error(`${name} sent ${arrivals} instead of ${expected}`)
      return measured
    })
    return report(results)
  } finally {
    await sink.end()
  }
}

/** Starts a process for each run, like the command. */
async function bareReplay(question: BareReplayQuestion): Promise<BareReplayAnswer> {
  const url = new URL('bare-replay.ts', import.meta.url)
  const program = await Program.start<BareReplayQuestion, BareReplayAnswer>(url)
  try {
    return await program.ask(question)
  } finally {
    await program.end()
  }
}

async function replayInto(
  store: (typeof stores)[number],
  { path, folder, origin }: { readonly path: string; folder: string; origin: string },
): Promise<BareReplayAnswer & { readonly peakMemoryMb: number }> {
  const request = { path, url: `${origin}/`, events: rows }
  if (store === 'memory:') return await replay(request)
  const file = join(folder, 'store.db')
  await removeStore(file)
  return await replay({ ...request, store: `sqlite:${file}` })
}

/** The measurements by name, in the order of the rounds. */
type Results = ReadonlyMap<Name, readonly (BareReplayAnswer & { readonly peakMemoryMb?: number })[]>

function report(results: Results): BenchReport {
  return {
    bench: 'replay-delivered',
    measured: `webhooks of ${rows.toLocaleString('en')} rows of NDJSON, from the start of \`replay\` to its end, compared with a loop that signs and posts the same bytes over ${connections} connections, ${rounds} rounds`,
    cases: stores.map((store) => caseOf(store, results)),
    mustReach: 'at least 0.6 of the limit; the main thread never idle while the endpoint has room',
    packages: ['undici'],
  }
}

function caseOf(store: (typeof stores)[number], results: Results): BenchCase {
  const own = results.get(store) ?? []
  const limit = results.get('limit') ?? []
  const ratesOf = (measured: readonly BareReplayAnswer[]): readonly number[] =>
    measured.map(({ eventsPerSecond }) => eventsPerSecond)
  const of = (measured: readonly BareReplayAnswer[], field: 'idleShare' | 'cpuUs'): number =>
    median(measured.map((each) => each[field]))
  return {
    name: store,
    rate: median(ratesOf(own)),
    unit: 'webhooks/s',
    beside: { limit: ratiosOf(ratesOf(own), ratesOf(limit)) },
    peakMemoryMb: Math.max(...own.map(({ peakMemoryMb = NaN }) => peakMemoryMb)),
    figures: {
      idleShare: of(own, 'idleShare'),
      limitIdleShare: of(limit, 'idleShare'),
      cpuUs: of(own, 'cpuUs') / rows,
      limitCpuUs: of(limit, 'cpuUs') / rows,
    },
  }
}
