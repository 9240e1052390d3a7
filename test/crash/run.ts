// The kill test at full scale: `npm run test:crash`, with `-- --control <fault>` to see it fail.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../bench/table.ts'
import { compileProgram } from './compile-program.ts'
import { runCrashes, type CrashResult } from './crash-run.ts'
import { faults } from './deliverer-settings.ts'
import { figuresOf, findingsOf } from './findings.ts'
import { randomKillEvents } from './kill-plan.ts'
import { seededRandom } from '../../src/receiver/faults/seeded-random.ts'

const { values } = parseArgs({
  options: {
    control: { type: 'string' },
    seed: { type: 'string' },
    kills: { type: 'string' },
    messages: { type: 'string' },
  },
})
const fault = faults.find((candidate) => candidate === values.control)
if (values.control !== undefined && fault === undefined) {
  throw new Error(`Cannot use --control ${values.control}. Choose from: ${faults.join(', ')}`)
}
// A fault shows at a small scale.
const scale = fault === undefined ? { kills: 50, messages: 20_000 } : { kills: 5, messages: 2_000 }
const kills = Number(values.kills ?? scale.kills)
const messages = Number(values.messages ?? scale.messages)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))

function report(result: CrashResult): string {
  const figures = figuresOf(result)
  const columns: readonly (readonly [string, string | number])[] = [
    ['kills', result.kills],
    ['at rest', result.killsAtRest],
    ['acknowledged', figures.acknowledged],
    ['answered', figures.answered],
    ['refused once', result.refusals],
    ['duplicates', figures.duplicates],
    ['allowed', figures.duplicatesMax],
    ['unacknowledged, sent again', result.sentAgain],
    ['longest restart', `${Math.round(result.restartMsMax)} ms`],
    ['longest open', `${Math.round(result.openMsMax)} ms`],
    ['seconds', (result.durationMs / 1_000).toFixed(1)],
    ['seed', seed],
  ]
  const names = columns.map(([name]) => name)
  return table(names, [columns.map(([, figure]) => `${figure}`)])
}

const folder = await mkdtemp(join(tmpdir(), 'evroute-crash-'))
process.stdout.write(`seed ${seed}, files in ${folder}\n`)
const program = await compileProgram(
  new URL('deliverer.ts', import.meta.url),
  join(folder, 'program'),
)
const killEvents = randomKillEvents(kills, seededRandom(seed))
const result = await runCrashes({ program, folder, messages, killEvents, seed, fault })
const findings = findingsOf(result)
process.stdout.write(`\n${report(result)}\n\n`)
for (const finding of findings) process.stdout.write(`! ${finding}\n`)
if (findings.length === 0)
  process.stdout.write('No acknowledged message was lost, and the ledger balances.\n')
const isAsExpected = fault === undefined ? findings.length === 0 : findings.length > 0
if (fault !== undefined) {
  process.stdout.write(`${fault}: ${isAsExpected ? 'noticed, as expected' : 'NOT NOTICED'}\n`)
}
if (isAsExpected) await rm(folder, { recursive: true })
else process.exitCode = 1
