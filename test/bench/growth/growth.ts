import { copyFile, open } from 'node:fs/promises'
import { join } from 'node:path'
import { scratchFolder } from '../../support/scratch-folder.ts'
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
/** Events per batch. A batch goes to one destination, so a run reaches 1,000 destinations. */
const batchSize = 10
/** One batch for each of 1,000 destinations, because a new destination first opens connections. */
const warmUpEvents = 10_000
/** Requests in flight in total. */
const concurrency = 64
const concurrencyMin = batchSize / 2

/** Deliveries in the store before a run; a tenth of them wait for a dead endpoint. */
const storedCounts = [1_000, 10_000, 100_000, 1_000_000] as const
const parkedShare = 0.1
/** A store of this size is reused as it is, because a run adds little in comparison. */
const reusedFrom = 1_000_000

const destinationCounts = [1, 10, 100, 1_000] as const

/** Measures how the rate depends on the number of stored deliveries and of destinations. */
export async function benchGrowth(): Promise<BenchReport> {
  const sink = await Sink.start()
  const program = await startLoadProgram()
  await using folder = await scratchFolder()
  try {
    const setup = { folder: folder.path, origin: sink.origin, program }
    const cases = [...(await storedCases(setup)), ...(await destinationCases(setup))]
    return {
      bench: 'growth',
      measured: `deliveries of ${events} events, ${concurrency} in flight in total, with this many deliveries already stored (a tenth parked, the others delivered and logged), or to this many destinations in turn, ${rounds} rounds`,
      cases,
      mustReach: 'within 20 % of the smallest case',
    }
  } finally {
    await program.end()
    await sink.end()
  }
}

/** What every case needs. */
interface Setup {
  readonly folder: string
  readonly origin: string
  readonly program: LoadProgram
}

async function storedCases({ folder, origin, program }: Setup): Promise<readonly BenchCase[]> {
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
    return await program.ask({ path, destinations, sourceIds: ['own'], events, batchSize })
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
  // Otherwise the next write to the disk would wait for all of it.
  const file = await open(path)
  await file.sync()
  await file.close()
}

async function destinationCases({ folder, origin, program }: Setup): Promise<readonly BenchCase[]> {
  const measure = async (count: number): Promise<Measurement> => {
    const path = join(folder, 'destinations.db')
    const sourceIds = Array.from({ length: count }, (_, index) => `destination-${index}`)
    const perDestination = Math.max(concurrencyMin, Math.round(concurrency / count))
    const destinations = sourceIds.map((id) => destinationTo(id, `${origin}/${id}`, perDestination))
    await removeStore(path)
    return await program.ask({ path, destinations, sourceIds, events, warmUpEvents, batchSize })
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
  return rates.map(({ name, perSecond }, index) => ({
    name,
    rate: median(perSecond),
    unit: 'webhooks/s',
    beside: index === 0 ? {} : { smallest: ratiosOf(perSecond, smallest) },
  }))
}
