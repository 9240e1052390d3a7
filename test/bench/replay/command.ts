import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { stopwatch } from '../../../dist/runtime/index.js'
import { sampleSecret } from '../sample-webhook.ts'
import { binaryPath } from '../start/spawned.ts'

const tellFigures = new URL('tell-figures.js', import.meta.url).href

/** What is replayed. */
export interface ReplayRequest {
  readonly path: string
  /** The endpoint. */
  readonly url: string
  /** How many webhooks have to come of it. */
  readonly events: number
  /** Replays the calls of this type only. */
  readonly type?: string
  /** Where the deliveries are kept; in memory by default. */
  readonly store?: string
}

/** What its process used, as `tell-figures.js` tells it. */
interface Used {
  /** The most memory that it had. */
  readonly peakMemoryMb: number
  /** CPU of all its threads. */
  readonly cpuUs: number
  /** The part of the time in which its main thread waited. */
  readonly idleShare: number
}

/** What a replay took. */
export interface Replayed extends Used {
  /** From the start of the command to its end. */
  readonly eventsPerSecond: number
}

/**
 * Runs `evroute replay` in a process of its own.
 *
 * @throws Error where it does not deliver what it should
 */
export async function replay(request: ReplayRequest): Promise<Replayed> {
  const { path, url, events, type, store } = request
  const flags = ['--to', url, '--secret', sampleSecret, '--quiet']
  if (type !== undefined) flags.push('--type', type)
  if (store !== undefined) flags.push('--store', store)
  const elapsedMs = stopwatch()
  const { stderr, figures } = await run(['replay', path, ...flags])
  const seconds = elapsedMs() / 1_000
  if (!stderr.includes(`${events.toLocaleString('en')} delivered`)) throw new Error(stderr)
  return { eventsPerSecond: events / seconds, ...(JSON.parse(figures) as Used) }
}

/** The bodies that a replay would send. */
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
): Promise<{ readonly stdout: string; readonly stderr: string; readonly figures: string }> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--import', tellFigures, binaryPath, ...args], {
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const [stdout, stderr, figures] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
    text(child.stdio[3] as Readable),
    once(child, 'exit'),
  ])
  return { stdout, stderr, figures }
}
