// Makes calls with a tracker, in its own process. Reports how long it took until all were answered, how long
// the event loop was blocked, and how much memory the process used.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { createTracker, type TrackerName, type TrackerSettings } from './tracker.ts'

/** Settings of a producer: which tracker takes its calls. */
export interface ProducerSettings extends TrackerSettings {
  readonly tracker: TrackerName
}

export interface ProducerQuestion {
  readonly calls: number
}

export interface Production {
  /** From the first call to the last answer. */
  readonly seconds: number
  /** The longest time for which the event loop was blocked. */
  readonly pauseMs: number
  /** Peak resident memory while calls were made and sent. */
  readonly memoryMb: number
}

/** Calls per turn of the event loop. */
const sliceLength = 100
/** Often enough to see the peak, seldom enough to cost nothing. */
const sampleEveryMs = 5

const { tracker: name, ...settings } = programSettings() as ProducerSettings
const tracker = await createTracker(name, settings)

async function produce({ calls }: ProducerQuestion): Promise<Production> {
  // Its timer is native. Measuring the gaps between immediates would keep an idle loop turning, and run our
  // code in every turn. The result is at most 1 ms too long.
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  let memoryMb = 0
  const sample = (): void => {
    memoryMb = Math.max(memoryMb, process.memoryUsage.rss() / 1024 / 1024)
  }
  const sampling = setInterval(sample, sampleEveryMs)
  pauses.enable()
  // The monitor measures from its first turn on.
  await sleep(2 * sampleEveryMs)
  const elapsedMs = stopwatch()
  await makeCalls(calls)
  await tracker.flush()
  const seconds = elapsedMs() / 1_000
  // A pause is recorded only when it is over.
  await sleep(2 * sampleEveryMs)
  pauses.disable()
  clearInterval(sampling)
  return { seconds, pauseMs: pauses.max / 1_000_000, memoryMb }
}

async function makeCalls(calls: number): Promise<void> {
  for (let number = 0; number < calls; number++) {
    if (number > 0 && number % sliceLength === 0) await nextTurn()
    tracker.track({
      userId: `user-${number}`,
      event: 'Order Completed',
      properties: { orderId: `order-${number}`, revenue: '39.95', currency: 'EUR', items: 3 },
    })
  }
}

answerQuestions(produce)
