// Delivers in a process of its own, with so many sender threads, and tells the CPU of each kind of thread.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Destination, SettledDelivery } from '../../../dist/model/index.js'
import { Pipeline } from '../../../dist/pipeline/index.js'
import { createRuntime, silentLog, silentObserver, stopwatch } from '../../../dist/runtime/index.js'
import { openStore } from '../../../dist/store/index.js'
import { checkDestination, SenderThreads } from '../../../dist/webhook/index.js'
import { Countdown } from '../load/countdown.ts'
import { destinationTo } from '../load/destinations.ts'
import { inBatches } from '../load/in-batches.ts'
import { answerQuestions, programSettings } from '../program.ts'
import { sampleCall, sampleMessageId } from '../sample-webhook.ts'
import { newThreads, ownThreadId, threadCpuUs, threadIds } from './thread-times.ts'

/** What the process is told. */
export interface CoresSettings {
  /** Where webhooks go; undefined for the endpoint that costs nothing. */
  readonly origin?: string
  /** How many threads sign and post; with none, the main thread does it. */
  readonly senderThreads: number
}

/** What it is asked: to deliver so many webhooks. */
export interface CoresQuestion {
  readonly webhooks: number
}

/** What it answers; CPU is in microseconds for each webhook. */
export interface CoresAnswer {
  readonly perSecond: number
  readonly mainCpuUs: number
  /** Of all sender threads together. */
  readonly sendersCpuUs: number
  readonly storeCpuUs: number
  /** Of the threads that collect garbage, compile and wait for files. */
  readonly otherCpuUs: number
  /** The part of the time in which the main thread waited. */
  readonly idleShare: number
}

/** Enough for four threads to have the same number of them. */
const destinationCount = 8
/** As many as the bench `delivery` has, over all destinations. */
const connections = 64
/** What is compiled and opened on the way is nobody's cost. */
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
  const ofStore = newThreads(before)
  const pipeline = new Pipeline({
    destinations,
    store,
    runtime: createRuntime({ log: silentLog, observer }),
    senderThreads: senderThreads === 0 ? undefined : new SenderThreads(senderThreads),
    failed: (error) => settlements.fail(error),
  })
  pipeline.start()
  const ofSenders = newThreads(new Set([...before, ...ofStore]))
  try {
    await deliver(pipeline, webhooks * warmUpShare)
    const used = usedCpu({ main: [ownThreadId()], senders: ofSenders, store: ofStore })
    const loop = performance.eventLoopUtilization()
    const elapsedMs = stopwatch()
    await deliver(pipeline, webhooks)
    const perSecond = (webhooks * 1_000) / elapsedMs()
    const { main, senders: ofSendersUs, store: ofStoreUs, other } = used()
    return {
      perSecond,
      mainCpuUs: main / webhooks,
      sendersCpuUs: ofSendersUs / webhooks,
      storeCpuUs: ofStoreUs / webhooks,
      otherCpuUs: other / webhooks,
      idleShare: 1 - performance.eventLoopUtilization(loop).utilization,
    }
  } finally {
    await pipeline.close()
  }
}

/** The kinds of threads that a webhook passes. */
type ThreadsOf = Readonly<Record<'main' | 'senders' | 'store', readonly string[]>>

/** Begins to measure; what it returns tells the microseconds that each kind of thread has used since. */
function usedCpu(threads: ThreadsOf): () => Readonly<Record<keyof ThreadsOf | 'other', number>> {
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
  const folder = await mkdtemp(join(tmpdir(), 'evroute-bench-'))
  try {
    return await measure(join(folder, 'store.db'), webhooks)
  } finally {
    await rm(folder, { recursive: true })
  }
})
