// Measures what is claimed: `npm run bench -- <name> ...`, or all benches with `all` or without a name. `postgres`, which
// is the beginning of several names, stands for all of them. With `--json` every case is a line on stdout.
// `--record` also writes the figures into `docs/speed.json`, from which the tables of figures are made; so does
// `all --json`. `--seconds` and `--rate` say how long `day` lasts and how many events a second it has.
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
  throw new Error(`There is no benchmark ${unknown}: ${known.join(', ')}`)
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
