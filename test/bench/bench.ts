// Measures what is claimed: `npm run bench -- <name>`, or all of them with `all` or without a name; `postgres`,
// which is none, stands for all whose names begin with it. With `--json` every case is a line on stdout, and
// `all --json` also writes `docs/speed.json`, from which the tables of figures are made.
// `--seconds` and `--rate` say how long `day` lasts and how many events a second it has.
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { formatTimestamp } from '../../dist/model/index.js'
import { systemClock } from '../../dist/runtime/index.js'
import { benches } from './benches.ts'
import { machine, reportLines, reportText } from './report.ts'

const { values, positionals } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '600' },
    rate: { type: 'string', default: '600' },
  },
  allowPositionals: true,
})
const [first] = positionals
const name = first === 'all' ? undefined : first
const chosen = Object.entries(benches).filter(
  ([each]) =>
    name === undefined || each === name || (!(name in benches) && each.startsWith(`${name}-`)),
)
if (chosen.length === 0) {
  throw new Error(`There is no benchmark ${name ?? ''}: ${Object.keys(benches).join(', ')}`)
}
const write = values.json ? reportLines : reportText
const plan = { durationMs: Number(values.seconds) * 1_000, eventsPerSecond: Number(values.rate) }
const texts: string[] = []
for (const [, bench] of chosen) {
  const text = `${write(await bench(plan))}\n`
  process.stdout.write(text)
  texts.push(text)
}
if (first === 'all' && values.json) {
  const cases = texts
    .flatMap((text) => text.trimEnd().split('\n'))
    .map((line): unknown => JSON.parse(line))
  const measuredOn = formatTimestamp(systemClock.nowMs()).slice(0, 10)
  const measured = { measuredOn, machine: machine(), cases }
  const path = new URL('../../docs/speed.json', import.meta.url)
  await writeFile(path, `${JSON.stringify(measured, null, 2)}\n`)
}
