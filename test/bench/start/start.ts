import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../../dist/runtime/index.js'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { inTurn } from '../in-turn.ts'
import { ratiosOf, type BenchCase, type BenchReport } from '../report.ts'
import { Sink } from '../sink/sink.ts'
import { median } from '../table.ts'
import { binaryPath, runNode } from './spawned.ts'

const calls = 10
const warmUpRounds = 2
const rounds = 15

/** What to start; `limit` is Node with nothing to do. */
const names = ['limit', '--version', 'send --dry-run', 'first webhook'] as const
type Name = (typeof names)[number]

/** Measures how long the command takes to start, and until its first webhook arrives. */
export async function benchStart(): Promise<BenchReport> {
  await using folder = await scratchFolder()
  const sink = await Sink.start()
  try {
    const file = join(folder.path, 'calls.ndjson')
    await writeFile(file, callLines())
    const measure = (name: Name): Promise<number> => measureOnce(name, file, sink)
    await inTurn(names, warmUpRounds, measure)
    return report(await inTurn(names, rounds, measure))
  } finally {
    await sink.end()
  }
}

function callLines(): string {
  return Array.from({ length: calls }, (_, index) => {
    const call = { type: 'track', event: 'Order Completed', userId: `user-${index}` }
    return `${JSON.stringify(call)}\n`
  }).join('')
}

/** @returns how long it took, in milliseconds */
function measureOnce(name: Name, file: string, sink: Sink): Promise<number> {
  switch (name) {
    case 'limit':
      return runNode(['-e', '0'])
    case '--version':
      return runNode([binaryPath, '--version'])
    case 'send --dry-run':
      return runNode([binaryPath, 'send', 'track', '--dry-run', '--file', file])
    case 'first webhook':
      return firstWebhook(file, sink)
  }
}

/** Measures from the start of the process until its first webhook arrives. */
async function firstWebhook(file: string, sink: Sink): Promise<number> {
  const arrived = sink.arrivalOf(calls)
  const startedAtMs = systemClock.nowMs()
  const to = ['--to', `${sink.origin}/`, '--secret', 'not-a-real-secret']
  await runNode([binaryPath, 'send', 'track', '--file', file, ...to])
  return (await arrived) - startedAtMs
}

function report(results: ReadonlyMap<Name, readonly number[]>): BenchReport {
  const limitMs = results.get('limit') ?? []
  const cases = names
    .filter((name) => name !== 'limit')
    .map((name) => caseOf(name, results.get(name) ?? [], limitMs))
  return {
    bench: 'start',
    measured: `starts of the command, compared with \`node -e 0\`, ${rounds} rounds`,
    cases,
    mustReach:
      '--version 0.5 of the limit (twice its time), send --dry-run 0.33 (three times), the first webhook within 600 ms',
  }
}

function caseOf(name: Name, ownMs: readonly number[], limitMs: readonly number[]): BenchCase {
  return {
    name,
    rate: 1_000 / median(ownMs),
    unit: 'starts/s',
    // Ratios of times, inverted, because a longer time is a lower rate.
    beside: { limit: ratiosOf(limitMs, ownMs) },
    figures: { ms: Math.round(median(ownMs)), limitMs: Math.round(median(limitMs)) },
  }
}
