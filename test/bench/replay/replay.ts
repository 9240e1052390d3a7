import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { Histories } from './history.ts'
import { parsingCases } from './parsing.ts'
import { replayingCases } from './replaying.ts'

/** How fast files of calls are read and replayed to an endpoint, and how much memory that takes. */
export async function benchReplay(): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  const sink = await Sink.start()
  try {
    const histories = new Histories(folder)
    return {
      bench: 'replay',
      measured:
        'NDJSON of 1,000,000 rows parsed; files of 10,000 replayed, from start to end of the command, whose memory is also that of longer ones',
      cases: [
        ...(await parsingCases(histories)),
        ...(await replayingCases(histories, `${sink.origin}/`)),
      ],
      mustReach: 'parsing 0.6 of the limit; replay less than 150 MB whatever the size',
    }
  } finally {
    await sink.end()
    await rm(folder, { recursive: true })
  }
}
