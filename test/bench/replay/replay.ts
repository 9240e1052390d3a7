import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { Histories } from './history.ts'
import { parsingCases } from './parsing.ts'
import { replayingCases } from './replaying.ts'

/** Measures how fast files of calls are read and replayed to an endpoint, and how much memory that takes. */
export async function benchReplay(): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  const sink = await Sink.start()
  try {
    const histories = new Histories(folder)
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
    await rm(folder, { recursive: true })
  }
}
