import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { stopwatch } from '../../../dist/runtime/index.js'
import { sampleSecret } from '../sample-webhook.ts'
import { binaryPath } from '../start/spawned.ts'

const reportUsage = new URL('report-usage.js', import.meta.url).href

/** What to replay, and how. */
export interface ReplayRequest {
  readonly path: string
  readonly url: string
  /** The number of webhooks that it must deliver. */
  readonly events: number
  /** Replays only calls of this type. */
  readonly type?: string
  /** The URL of the store; in memory by default. */
  readonly store?: string
}

/** What the process used, as `report-usage.js` writes it. */
interface Usage {
  /** Peak memory. */
  readonly peakMemoryMb: number
  /** CPU time of all its threads, in microseconds. */
  readonly cpuUs: number
  /** The share of the time in which its main thread was idle. */
  readonly idleShare: number
}

export interface Replayed extends Usage {
  /** From the start of the command to its end. */
  readonly eventsPerSecond: number
}

/**
 * Runs `evroute replay` in its own process.
 *
 * @throws Error unless it delivers every event
 */
export async function replay(request: ReplayRequest): Promise<Replayed> {
  const { path, url, events, type, store } = request
  const flags = ['--to', url, '--secret', sampleSecret, '--quiet']
  if (type !== undefined) flags.push('--type', type)
  if (store !== undefined) flags.push('--store', store)
  const elapsedMs = stopwatch()
  const { stderr, usage } = await run(['replay', path, ...flags])
  const seconds = elapsedMs() / 1_000
  if (!stderr.includes(`${events.toLocaleString('en')} delivered`)) throw new Error(stderr)
  return { eventsPerSecond: events / seconds, ...(JSON.parse(usage) as Usage) }
}

/** Returns the bodies that a replay would send. */
export async function plannedBodies(path: string, url: string): Promise<readonly string[]> {
  const { stdout } = await run(['replay', path, '--to', url, '--dry-run', '--json'])
  const records = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly kind: string; readonly body: string })
  return records.filter(({ kind }) => kind === 'plan').map(({ body }) => body)
}

async function run(
  args: readonly string[],
): Promise<{ readonly stdout: string; readonly stderr: string; readonly usage: string }> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--import', reportUsage, binaryPath, ...args], {
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const [stdout, stderr, usage] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
    text(child.stdio[3] as Readable),
    once(child, 'exit'),
  ])
  return { stdout, stderr, usage }
}
