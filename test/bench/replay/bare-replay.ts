// The limit: signs and posts the bodies of a file, each as soon as a connection is free. It doesn't parse,
// check, store, time or log anything.
import { readFile } from 'node:fs/promises'
import { performance } from 'node:perf_hooks'
import { stopwatch } from '../../../dist/runtime/index.js'
import { postSignedTo } from '../delivery/post-signed.ts'
import { answerQuestions } from '../program.ts'

/** What to post, and where. */
export interface BareReplayQuestion {
  /** A file with one body per line. */
  readonly path: string
  readonly origin: string
  readonly connections: number
}

export interface BareReplayAnswer {
  readonly eventsPerSecond: number
  readonly cpuUs: number
  readonly idleShare: number
}

answerQuestions(
  async ({ path, origin, connections }: BareReplayQuestion): Promise<BareReplayAnswer> => {
    const bodies = (await readFile(path, 'utf8')).split('\n')
    const post = postSignedTo(origin, connections)
    let next = 0
    const postUntilDone = async (): Promise<void> => {
      while (next < bodies.length) await post(bodies[next++] ?? '')
    }
    const cpu = process.cpuUsage()
    const loop = performance.eventLoopUtilization()
    const elapsedMs = stopwatch()
    await Promise.all(Array.from({ length: connections }, postUntilDone))
    const eventsPerSecond = (bodies.length * 1_000) / elapsedMs()
    const { user, system } = process.cpuUsage(cpu)
    const { utilization } = performance.eventLoopUtilization(loop)
    return { eventsPerSecond, cpuUs: user + system, idleShare: 1 - utilization }
  },
)
