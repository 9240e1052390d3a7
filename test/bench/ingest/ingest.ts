import { join } from 'node:path'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { inTurn } from '../in-turn.ts'
import { Program } from '../program.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { median } from '../table.ts'
import type { Server, ServerSettings } from './answering.ts'
import type { LoadQuestion } from './load.ts'
import { eventsPerBatch, type TrackingPath } from './requests.ts'

const rounds = 5
const connections = 64

/** Requests per run. */
const requestsOf: Readonly<Record<TrackingPath, number>> = { '/v1/batch': 500, '/v1/track': 10_000 }
const paths = Object.keys(requestsOf) as readonly TrackingPath[]
const warmUpShare = 0.4

/**
 * The servers: the service with and without a destination; the limit, which stores nothing; and a minimal app
 * that stores, which shows how much slower storing alone is than the limit.
 */
const servers = ['one destination', 'no destination', 'limit', 'bare store'] as const
type ServerName = (typeof servers)[number]

type Load = Program<LoadQuestion, number>

/** Rates by server, for each path. */
type Results = ReadonlyMap<TrackingPath, ReadonlyMap<ServerName, readonly number[]>>

/**
 * Measures how many events per second the tracking API accepts and stores, compared with an express app that
 * only parses them.
 */
export async function benchIngest(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const started: Program<never, unknown>[] = []
  const start = async <Question, Answer>(
    program: URL,
    settings: unknown = {},
  ): Promise<Program<Question, Answer>> => {
    const process = await Program.start<Question, Answer>(program, settings)
    started.push(process)
    return process
  }
  try {
    const server = (program: URL, name: ServerName): Promise<Server> => {
      const isRouted = name === 'one destination'
      const settings: ServerSettings = { path: join(folder.path, `${name}.db`), isRouted }
      return start(program, settings)
    }
    const service = new URL('service.ts', import.meta.url)
    const running: Readonly<Record<ServerName, Server>> = {
      'one destination': await server(service, 'one destination'),
      'no destination': await server(service, 'no destination'),
      limit: await server(new URL('express.ts', import.meta.url), 'limit'),
      'bare store': await server(new URL('bare-store.ts', import.meta.url), 'bare store'),
    }
    const load = await start<LoadQuestion, number>(new URL('load.ts', import.meta.url))
    return await measureAll(running, load)
  } finally {
    for (const process of started) await process.end()
  }
}

async function measureAll(
  running: Readonly<Record<ServerName, Server>>,
  load: Load,
): Promise<BenchReport> {
  const results = new Map<TrackingPath, ReadonlyMap<ServerName, readonly number[]>>()
  for (const path of paths) {
    const measure = async (name: ServerName, share: number): Promise<number> => {
      const origin = String(await running[name].ask('origin'))
      return await load.ask({ origin, path, requests: requestsOf[path] * share, connections })
    }
    await inTurn(servers, 2, (name) => measure(name, warmUpShare))
    results.set(path, await inTurn(servers, rounds, (name) => measure(name, 1)))
  }
  const peakMemoryMb = Number(await running['one destination'].ask('peakMemoryMb'))
  return report(results, peakMemoryMb)
}

function report(results: Results, peakMemoryMb: number): BenchReport {
  const casesFor = (name: ServerName, about: Partial<BenchCase>): readonly BenchCase[] =>
    paths.map((path) => ({ ...about, ...caseOf(path, name, results) }))
  return {
    bench: 'ingest',
    measured: `events through /v1/batch, ${eventsPerBatch} in each request, and requests through /v1/track, over ${connections} connections, each answered once it is on disk (SQLite, synchronous=FULL), ${rounds} rounds`,
    cases: [
      ...casesFor('one destination', { peakMemoryMb }),
      ...casesFor('no destination', {}),
      ...casesFor('bare store', {}),
    ],
    mustReach: 'for one destination, /v1/batch 0.5 and /v1/track 0.6 of the limit',
    packages: ['express', 'undici'],
  }
}

function caseOf(path: TrackingPath, name: ServerName, results: Results): BenchCase {
  const rates = results.get(path)
  const own = rates?.get(name) ?? []
  const others = (['limit', 'bare store'] as const).filter((other) => other !== name)
  return {
    name: `${path}, ${name}`,
    rate: median(own),
    unit: path === '/v1/batch' ? 'events/s' : 'requests/s',
    beside: Object.fromEntries(
      others.map((other) => [other, ratiosOf(own, rates?.get(other) ?? [])]),
    ),
  }
}
