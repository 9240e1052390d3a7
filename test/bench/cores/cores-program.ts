// Delivers in its own process with a given number of sender threads, and reports the CPU time of each kind of
// thread.
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Destination, SettledDelivery } from '../../../dist/model/index.js'
import { Pipeline } from '../../../dist/pipeline/index.js'
import { createRuntime, silentLog, silentObserver, stopwatch } from '../../../dist/runtime/index.js'
import { openStore } from '../../../dist/store/index.js'
import { checkDestination, SenderThreads } from '../../../dist/webhook/index.js'
import { scratchFolder } from '../../support/scratch-folder.ts'
import { Countdown } from '../load/countdown.ts'
import { destinationTo } from '../load/destinations.ts'
import { inBatches } from '../load/in-batches.ts'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleCall, sampleMessageId } from '../sample-webhook.ts'
import { newThreads, ownThreadId, threadCpuUs, threadIds } from './thread-times.ts'

export interface CoresSettings {
  /** Where webhooks go; undefined for the fake endpoint in the process. */
  readonly origin?: string
  /** How many threads sign and post; with 0, the main thread does. */
  readonly senderThreads: number
}

export interface CoresQuestion {
  readonly webhooks: number
}

/** The measurements; CPU times are in microseconds per webhook. */
export interface CoresAnswer {
  readonly perSecond: number
  readonly mainCpuUs: number
  /** Of all sender threads together. */
  readonly sendersCpuUs: number
  readonly storeCpuUs: number
  /** Of the threads that collect garbage, compile or wait for files. */
  readonly otherCpuUs: number
  /** The share of the time in which the main thread was idle. */
  readonly idleShare: number
}

/** Divisible by four, so that up to four threads get the same number each. */
const destinationCount = 8
/** Over all destinations; as many as in the `delivery` bench. */
const connections = 64
/** The share of webhooks that are sent before measuring, to compile code and open connections. */
const warmUpShare = 0.25

const { origin, senderThreads } = programSettings() as CoresSettings
const destinations: readonly Destination[] = Array.from({ length: destinationCount }, (_, index) =>
  checkDestination(
    destinationTo(
      `crm-${index}`,
      `${origin ?? 'http://fake.example'}/`,
      connections / destinationCount,
    ),
  ),
)
let settlements = new Countdown(0)
const observer = {
  ...silentObserver,
  settled: ({ state, reason }: SettledDelivery): void => {
    if (state === 'delivered') settlements.step()
    else settlements.fail(new Error(`A delivery is ${state}: ${reason}`))
  },
}

async function deliver(pipeline: Pipeline, webhooks: number): Promise<void> {
  settlements = new Countdown(webhooks)
  const batches = { count: webhooks, batchSize: 100, batchesAtOnce: 8 }
  await inBatches(batches, async (from, length) => {
    const sourceId = destinations[(from / batches.batchSize) % destinationCount]?.id ?? ''
    const calls = Array.from({ length }, () => sampleCall(sampleMessageId()))
    await pipeline.intake.accept({ sourceId, calls })
  })
  await settlements.over
}

async function measure(path: string, webhooks: number): Promise<CoresAnswer> {
  const before = threadIds()
  const store = await openStore(`sqlite:${path}`, { ownThread: true })
  const storeThreads = newThreads(before)
  const pipeline = new Pipeline({
    destinations,
    store,
    runtime: createRuntime({ log: silentLog, observer }),
    senderThreads: senderThreads === 0 ? undefined : new SenderThreads(senderThreads),
    failed: (error) => settlements.fail(error),
  })
  pipeline.start()
  const senderThreadIds = newThreads(new Set([...before, ...storeThreads]))
  try {
    await deliver(pipeline, webhooks * warmUpShare)
    const used = usedCpu({ main: [ownThreadId()], senders: senderThreadIds, store: storeThreads })
    const loop = performance.eventLoopUtilization()
    const elapsedMs = stopwatch()
    await deliver(pipeline, webhooks)
    const perSecond = (webhooks * 1_000) / elapsedMs()
    const cpuUs = used()
    return {
      perSecond,
      mainCpuUs: cpuUs.main / webhooks,
      sendersCpuUs: cpuUs.senders / webhooks,
      storeCpuUs: cpuUs.store / webhooks,
      otherCpuUs: cpuUs.other / webhooks,
      idleShare: 1 - performance.eventLoopUtilization(loop).utilization,
    }
  } finally {
    await pipeline.close()
  }
}

type ThreadIds = Readonly<Record<'main' | 'senders' | 'store', readonly string[]>>

/**
 * Starts measuring. Returns a function for the CPU time that each kind of thread has used since, in
 * microseconds.
 */
function usedCpu(threads: ThreadIds): () => Readonly<Record<keyof ThreadIds | 'other', number>> {
  const since = (ids: readonly string[]): (() => number) => {
    const sum = (): number => ids.reduce((total, id) => total + threadCpuUs(id), 0)
    const before = sum()
    return () => sum() - before
  }
  const [main, senders, store] = [since(threads.main), since(threads.senders), since(threads.store)]
  const all = process.cpuUsage()
  return () => {
    const used = { main: main(), senders: senders(), store: store() }
    const { user, system } = process.cpuUsage(all)
    return { ...used, other: user + system - used.main - used.senders - used.store }
  }
}

answerQuestions(async ({ webhooks }: CoresQuestion): Promise<CoresAnswer> => {
  await using folder = await scratchFolder()
  return await measure(join(folder.path, 'store.db'), webhooks)
})
