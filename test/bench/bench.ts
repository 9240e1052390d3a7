// Runs benchmarks: `npm run bench -- <name> ...`. Without a name, or with `all`, it runs all of them. A
// prefix such as `postgres` runs every benchmark whose name starts with it. `--json` prints a line for each
// case. `--record`, and `all --json`, also write the figures into `docs/speed.json`. `--seconds` and `--rate`
// set the length of `day` and its events per second.
import { parseArgs } from 'node:util'
import { benches } from './benches.ts'
import { recordFigures } from './record-figures.ts'
import { reportLines, reportText } from './report.ts'

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '600' },
    rate: { type: 'string', default: '600' },
  },
  allowPositionals: true,
})
const isAll = positionals.length === 0 || positionals.includes('all')
const known = Object.keys(benches)
const namesOf = (name: string): readonly string[] =>
  known.filter((each) => each === name || (!(name in benches) && each.startsWith(`${name}-`)))
const unknown = positionals.find((name) => name !== 'all' && namesOf(name).length === 0)
if (unknown !== undefined) {
  throw new Error(`There is no benchmark ${unknown}. Choose from: ${known.join(', ')}`)
}
const chosen = isAll ? known : positionals.flatMap(namesOf)
const plan = { durationMs: Number(values.seconds) * 1_000, eventsPerSecond: Number(values.rate) }
for (const [name, bench] of Object.entries(benches)) {
  if (!chosen.includes(name)) continue
  const report = await bench(plan)
  process.stdout.write(`${values.json ? reportLines(report) : reportText(report)}\n`)
  // After each bench, so that a run that ends early keeps its figures.
  if (values.record || (positionals.includes('all') && values.json)) await recordFigures(report)
}
