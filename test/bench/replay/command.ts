import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { stopwatch } from '../../../dist/runtime/index.js'

const programs = {
  evroute: fileURLToPath(new URL('../../../bin/evroute.js', import.meta.url)),
  tellMemory: new URL('tell-memory.js', import.meta.url).href,
}

/** What is replayed. */
export interface ReplayRequest {
  readonly path: string
  /** The endpoint. */
  readonly url: string
  /** How many webhooks have to come of it. */
  readonly events: number
  /** Replays the calls of this type only. */
  readonly type?: string
}

/** What a replay took. */
export interface Replayed {
  /** From the start of the command to its end. */
  readonly eventsPerSecond: number
  /** The most that its process had. */
  readonly peakMemoryMb: number
}

/**
 * Runs `evroute replay` in a process of its own.
 *
 * @throws Error where it does not deliver what it should
 */
export async function replay({ path, url, events, type }: ReplayRequest): Promise<Replayed> {
  const { PATH = '', HOME = '' } = process.env
  const selection = type === undefined ? [] : ['--type', type]
  const flags = ['--to', url, '--secret', 'not-a-real-secret', '--quiet', ...selection]
  const argv = ['--import', programs.tellMemory, programs.evroute, 'replay', path, ...flags]
  const elapsedMs = stopwatch()
  const stdio = ['ignore', 'ignore', 'pipe', 'pipe'] as const
  const child = spawn(process.execPath, argv, { env: { PATH, HOME }, stdio: [...stdio] })
  const [summary, peakKb] = await Promise.all([
    text(child.stderr as Readable),
    text(child.stdio[3] as Readable),
    once(child, 'exit'),
  ])
  const seconds = elapsedMs() / 1_000
  if (!summary.includes(`${events.toLocaleString('en')} delivered`)) throw new Error(summary)
  return { eventsPerSecond: events / seconds, peakMemoryMb: Number(peakKb) / 1024 }
}
