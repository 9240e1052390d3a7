// Measures what is claimed: `npm run bench -- <name>`, or all of them without a name; `postgres`,
// which is none, stands for all whose names begin with it. With `--json` every case is a line on stdout.
// `--seconds` and `--rate` say how long `day` lasts and how many events a second it has.
import { parseArgs } from 'node:util'
import { benches } from './benches.ts'
import { reportLines, reportText } from './report.ts'

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '600' },
    rate: { type: 'string', default: '600' },
  },
  allowPositionals: true,
})
const [name] = positionals
const chosen = Object.entries(benches).filter(
  ([each]) =>
    name === undefined || each === name || (!(name in benches) && each.startsWith(`${name}-`)),
)
if (chosen.length === 0) {
  throw new Error(`There is no benchmark ${name ?? ''}: ${Object.keys(benches).join(', ')}`)
}
const write = values.json ? reportLines : reportText
const plan = { durationMs: Number(values.seconds) * 1_000, eventsPerSecond: Number(values.rate) }
for (const [, bench] of chosen) process.stdout.write(`${write(await bench(plan))}\n`)
