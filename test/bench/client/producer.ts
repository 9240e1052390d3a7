// Gives calls to a tracker in a process of its own, and tells how long it took until all were answered,
// how long the event loop stood still, and how much memory the process had.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { stopwatch } from '../../../dist/runtime/index.js'
import { answerQuestions, programSettings } from '../program.ts'
import { createTracker, type TrackerName, type TrackerSettings } from './tracker.ts'

/** What takes the calls. */
export interface ProducerSettings extends TrackerSettings {
  readonly tracker: TrackerName
}

/** How many calls to make. */
export interface ProducerQuestion {
  readonly calls: number
}

/** What was measured. */
export interface Production {
  /** From the first call to the last answer. */
  readonly seconds: number
  /** The longest time in which the event loop did not come round. */
  readonly pauseMs: number
  /** The most resident memory while calls were made and sent. */
  readonly memoryMb: number
}

/** Calls that are made in one turn of the event loop. */
const sliceLength = 100
/** Often enough to see the peak, seldom enough to cost nothing. */
const sampleEveryMs = 5

const { tracker: name, ...settings } = programSettings() as ProducerSettings
const tracker = await createTracker(name, settings)

async function produce({ calls }: ProducerQuestion): Promise<Production> {
  // Its timer is native: gaps between immediates would keep the loop turning when it has nothing to do,
  // and run code of ours in every turn. What it says is too long by a millisecond at the most.
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  let memoryMb = 0
  const sample = (): void => {
    memoryMb = Math.max(memoryMb, process.memoryUsage.rss() / 1024 / 1024)
  }
  const sampling = setInterval(sample, sampleEveryMs)
  pauses.enable()
  // The first turn only tells it from when to measure.
  await sleep(2 * sampleEveryMs)
  const elapsedMs = stopwatch()
  await makeCalls(calls)
  await tracker.flush()
  const seconds = elapsedMs() / 1_000
  // A pause is seen when it is over.
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
