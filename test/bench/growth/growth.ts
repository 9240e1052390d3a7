import { copyFile, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inTurn } from '../in-turn.ts'
import { deadDestination, destinationTo } from '../load/destinations.ts'
import { fillStore } from '../load/fill-store.ts'
import { removeStore } from '../load/remove-store.ts'
import { startLoadProgram, type LoadProgram, type Measurement } from '../load/load.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { median } from '../table.ts'

const rounds = 5
const events = 10_000
/** Events of a batch, which go to one destination: so few that a run reaches a thousand of them. */
const batchSize = 10
/** Reaches a thousand destinations once: whoever is new makes connections, however many there are. */
const warmUpEvents = 10_000
/** Requests in flight over all destinations. */
const concurrency = 64
/** And of each destination at least, as a batch for it takes. */
const concurrencyOfEach = batchSize / 2

/** Deliveries in the store before a run, those in ten of which wait for an endpoint that is down. */
const storedCounts = [1_000, 10_000, 100_000, 1_000_000] as const
const parkedShare = 0.1
/** What a run adds to a store of this size is nothing beside it: it is used again as it is. */
const reusedFrom = 1_000_000

const destinationCounts = [1, 10, 100, 1_000] as const

/** What deliveries that are stored, and destinations that there are, cost those on their way. */
export async function benchGrowth(): Promise<BenchReport> {
  const sink = await Sink.start()
  const program = await startLoadProgram()
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  try {
    const place = { folder, origin: sink.origin, program }
    const cases = [...(await storedCases(place)), ...(await destinationCases(place))]
    return {
      bench: 'growth',
      measured: `deliveries of ${events} events, ${concurrency} at once over all, of which the store holds so many before (a tenth of them parked, the others delivered and logged) or which go to so many destinations in turn, ${rounds} rounds`,
      cases,
      mustReach: 'within 20 % of the smallest case',
    }
  } finally {
    await program.end()
    await sink.end()
    await rm(folder, { recursive: true })
  }
}

/** Where is measured, and by whom. */
interface Place {
  readonly folder: string
  readonly origin: string
  readonly program: LoadProgram
}

async function storedCases({ folder, origin, program }: Place): Promise<readonly BenchCase[]> {
  const own = destinationTo('own', `${origin}/`, concurrency)
  const filledPath = (count: number): string => join(folder, `stored-${count}.db`)
  for (const count of storedCounts) await fill(filledPath(count), count)
  const measure = async (count: number): Promise<Measurement> => {
    const path = count < reusedFrom ? join(folder, 'copy.db') : filledPath(count)
    if (count < reusedFrom) {
      await removeStore(path)
      await copyFile(filledPath(count), path)
    }
    const destinations = [own, deadDestination]
    return await program.ask({ path, destinations, fedIds: ['own'], events, batchSize })
  }
  await measure(storedCounts[0])
  const results = await inTurn(storedCounts.map(String), rounds, (name) => measure(Number(name)))
  return casesOf(results, 'stored')
}

async function fill(path: string, count: number): Promise<void> {
  const parked = count * parkedShare
  await fillStore(path, [
    { destinationId: 'own', count: count - parked, state: 'delivered' },
    { destinationId: deadDestination.id, count: parked, state: 'pending' },
  ])
  // Else whoever writes next waits for all of it.
  const file = await open(path)
  await file.sync()
  await file.close()
}

async function destinationCases({ folder, origin, program }: Place): Promise<readonly BenchCase[]> {
  const measure = async (count: number): Promise<Measurement> => {
    const path = join(folder, 'destinations.db')
    const fedIds = Array.from({ length: count }, (_, index) => `destination-${index}`)
    const ofEach = Math.max(concurrencyOfEach, Math.round(concurrency / count))
    const destinations = fedIds.map((id) => destinationTo(id, `${origin}/${id}`, ofEach))
    await removeStore(path)
    return await program.ask({ path, destinations, fedIds, events, warmUpEvents, batchSize })
  }
  await measure(destinationCounts[0])
  const results = await inTurn(destinationCounts.map(String), rounds, (name) =>
    measure(Number(name)),
  )
  return casesOf(results, 'destinations')
}

function casesOf(
  results: ReadonlyMap<string, readonly Measurement[]>,
  what: string,
): readonly BenchCase[] {
  const rates = [...results].map(([count, measured]) => ({
    name: `${what}: ${Number(count).toLocaleString('en')}`,
    perSecond: measured.map(({ perSecond }) => perSecond),
  }))
  const smallest = rates[0]?.perSecond ?? []
  return rates.map(({ name, perSecond }, place) => ({
    name,
    rate: median(perSecond),
    unit: 'webhooks/s',
    beside: place === 0 ? {} : { smallest: ratiosOf(perSecond, smallest) },
  }))
}
