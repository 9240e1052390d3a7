// Runs every scenario at full scale: `npm run test:pressure`. With `-- <name> ...`, it runs only these.
import { readdir } from 'node:fs/promises'
import { inspect, parseArgs } from 'node:util'
import { stopwatch } from '../../src/runtime/index.ts'
import { table } from '../bench/table.ts'
import type { PressureFinding, PressureScenario } from './scenario.ts'

const folder = new URL('scenarios/', import.meta.url)
const files = await readdir(folder)
const known = files.map((file) => file.replace(/\.ts$/, '')).sort()
const { positionals } = parseArgs({ allowPositionals: true })
const unknown = positionals.find((name) => !known.includes(name))
if (unknown !== undefined) {
  throw new Error(`There is no scenario ${unknown}. Choose from: ${known.join(', ')}`)
}

const rows: string[][] = []
for (const name of positionals.length > 0 ? positionals : known) {
  const module = (await import(new URL(`${name}.ts`, folder).href)) as {
    readonly scenario: PressureScenario
  }
  process.stdout.write(`${name}: ${module.scenario.title}\n`)
  const elapsedMs = stopwatch()
  const findings = await module.scenario.run().catch(failureOf)
  const seconds = (elapsedMs() / 1_000).toFixed(1)
  for (const { must, measured, holds } of findings) {
    rows.push([name, holds ? 'yes' : 'NO', must, measured, seconds])
    if (!holds) process.exitCode = 1
  }
}
process.stdout.write(`\n${table(['scenario', 'holds', 'must', 'measured', 'seconds'], rows)}\n`)

/** Turns the error of a scenario into a finding, so that the other scenarios still run. */
function failureOf(error: unknown): readonly PressureFinding[] {
  process.stderr.write(`${inspect(error)}\n`)
  return [{ must: 'the scenario finishes', measured: String(error), holds: false }]
}
