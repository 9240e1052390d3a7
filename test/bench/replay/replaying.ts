import { inTurn } from '../in-turn.ts'
import type { BenchCase } from '../report.ts'
import { median } from '../table.ts'
import { replay, type Replayed } from './command.ts'
import { historyFormats, identifyEvery, type Histories, type HistoryFormat } from './history.ts'

/** Delivering a million would take too long. */
const rows = 10_000
const rounds = 5
/** Shows whether memory grows with the number of deliveries. */
const manyRows = 100_000
/** Shows whether memory grows with the number of rows read; only their `identify` calls are sent. */
const readRows = 1_000_000

/** Measures how fast files are replayed to an endpoint, and how much memory that takes. */
export async function replayingCases(
  histories: Histories,
  url: string,
): Promise<readonly BenchCase[]> {
  const results = await inTurn(historyFormats, rounds, async (format) =>
    replay({ path: await histories.of(rows, format), url, events: rows }),
  )
  const cases: BenchCase[] = []
  for (const format of historyFormats) {
    const { many, read } = await longReplays(format, histories, url)
    cases.push(caseOf(format, { short: results.get(format) ?? [], many, read }))
  }
  return cases
}

/** Replays of which only the memory counts. */
interface LongReplays {
  readonly many: Replayed
  readonly read: Replayed
}

async function longReplays(
  format: HistoryFormat,
  histories: Histories,
  url: string,
): Promise<LongReplays> {
  const [manyPath, readPath] = [
    await histories.of(manyRows, format),
    await histories.of(readRows, format),
  ]
  const events = readRows / identifyEvery
  return {
    many: await replay({ path: manyPath, url, events: manyRows }),
    read: await replay({ path: readPath, url, events, type: 'identify' }),
  }
}

function caseOf(
  format: HistoryFormat,
  { short, many, read }: LongReplays & { readonly short: readonly Replayed[] },
): BenchCase {
  const shortMb = Math.max(...short.map(({ peakMemoryMb }) => peakMemoryMb))
  return {
    name: `replay, ${format}`,
    rate: median(short.map(({ eventsPerSecond }) => eventsPerSecond)),
    unit: 'events/s',
    beside: {},
    peakMemoryMb: Math.max(shortMb, many.peakMemoryMb, read.peakMemoryMb),
    figures: {
      [`${rows}DeliveredMb`]: Math.round(shortMb),
      [`${manyRows}DeliveredMb`]: Math.round(many.peakMemoryMb),
      [`${readRows}ReadMb`]: Math.round(read.peakMemoryMb),
    },
  }
}
