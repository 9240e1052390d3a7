import { scratchFolder } from '../../support/scratch-folder.ts'
import type { BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { Histories } from './history.ts'
import { parsingCases } from './parsing.ts'
import { replayingCases } from './replaying.ts'

/** Measures how fast files of calls are read and replayed to an endpoint, and how much memory that takes. */
export async function benchReplay(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const sink = await Sink.start()
  try {
    const histories = new Histories(folder.path)
    return {
      bench: 'replay',
      measured:
        '1,000,000 rows of NDJSON parsed; 10,000 rows replayed, from the start of the command to its end; memory also for larger files',
      cases: [
        ...(await parsingCases(histories)),
        ...(await replayingCases(histories, `${sink.origin}/`)),
      ],
      mustReach: 'parsing 0.6 of the limit; replay below 150 MB for a file of any size',
    }
  } finally {
    await sink.end()
  }
}
