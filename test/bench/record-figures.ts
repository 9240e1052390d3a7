import { readFile, writeFile } from 'node:fs/promises'
import { formatTimestamp } from '../../dist/model/index.js'
import { systemClock } from '../../dist/runtime/index.js'
import { machine, reportLines, type BenchReport } from './report.ts'

interface RecordedCase {
  readonly bench: string
  /** The day of the measurement, such as `2026-01-31`. */
  readonly measuredOn: string
}

interface Recorded {
  readonly machine: string
  readonly cases: readonly RecordedCase[]
}

const path = new URL('../../docs/speed.json', import.meta.url)

/** Writes the figures of one benchmark into `docs/speed.json`. The figures of the other benchmarks stay. */
export async function recordFigures(report: BenchReport): Promise<void> {
  const { cases } = JSON.parse(await readFile(path, 'utf8')) as Recorded
  const measuredOn = formatTimestamp(systemClock.nowMs()).slice(0, 10)
  const measured = reportLines(report)
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as { bench: string }), measuredOn }))
  const others = cases.filter(({ bench }) => bench !== report.bench)
  const recorded: Recorded = { machine: machine(), cases: [...others, ...measured] }
  await writeFile(path, `${JSON.stringify(recorded, null, 2)}\n`)
}
