// Measures what is claimed: `npm run bench -- <name>`, or all of them without a name; `postgres`,
// which is none, stands for all whose names begin with it. With `--json` every case is a line on stdout.
import { parseArgs } from 'node:util'
import { benches } from './benches.ts'
import { reportLines, reportText } from './report.ts'

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false } },
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
for (const [, bench] of chosen) process.stdout.write(`${write(await bench())}\n`)
