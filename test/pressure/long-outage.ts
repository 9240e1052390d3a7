import { join } from 'node:path'
import { defaultRetryPolicy, Dispatcher, Retention } from '../../src/delivery/index.ts'
import type { DeliveryLedger } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { openStore, type Store } from '../../src/store/index.ts'
import { eventsTo, ScriptedSender, target } from '../delivery/dispatching.ts'
import { answered } from '../delivery/samples.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const hourMs = 60 * 60 * 1_000

export interface LongOutageOptions {
  /** The number of deliveries. More than half of them fail once before the endpoint goes down. */
  readonly deliveries: number
  /** What the delivering process does during the outage. If it stops, a different process purges. */
  readonly process: 'keeps running' | 'restarts' | 'stops'
  /** The folder for the store. */
  readonly folder: string
}

export interface LongOutage {
  readonly windowMs: number
  /** The longest time from the first to the last attempt of a delivery. */
  readonly latestRoundMs: number
  /** Deliveries that were tried before the endpoint was back, and delivered afterwards. */
  readonly deliveredTried: number
  /** Deliveries that expired in the store. */
  readonly windowOver: number
  readonly ledger: DeliveryLedger
}

/** Records when each delivery was first tried, and the longest time until a later attempt. */
class Rounds {
  readonly first = new Map<string, number>()
  latestMs = 0

  note(body: string, nowMs: number): void {
    const firstMs = this.first.get(body) ?? nowMs
    this.first.set(body, firstMs)
    this.latestMs = Math.max(this.latestMs, nowMs - firstMs)
  }
}

/** Simulates an endpoint that is down for twelve hours, with a manual clock and a store in a file. */
export async function longOutage(options: LongOutageOptions): Promise<LongOutage> {
  const clock = new ManualClock(startMs)
  const { runtime, gaveUp } = recordingRuntime(clock)
  const rounds = new Rounds()
  let state: 'shaky' | 'down' | 'up' = 'shaky'
  let deliveredTried = 0
  const sender = new ScriptedSender((count, { body }) => {
    const isTried = rounds.first.has(body)
    rounds.note(body, clock.nowMs())
    // Three of five fail, too few to open the breaker.
    const isAccepted = state === 'up' || (state === 'shaky' && count % 5 >= 3)
    if (isAccepted && state === 'up' && isTried) deliveredTried++
    return answered(isAccepted ? 200 : 503)
  })
  const targets = [target('crm', sender)]
  const url = `sqlite:${join(options.folder, 'store.db')}`
  const open = async (): Promise<Store> => openStore(url)
  let store = await open()
  let dispatcher = new Dispatcher({ store, runtime, targets, keepsParked: true })
  let retention = new Retention({ store, runtime })
  retention.start()
  await dispatcher.add(eventsTo('crm', options.deliveries))
  await clock.advance(5_000)
  state = 'down'
  await clock.advance(hourMs)
  if (options.process !== 'keeps running') {
    await dispatcher.stop()
    await retention.stop()
    await store.close()
    store = await open()
    retention = new Retention({ store, runtime })
    retention.start()
    if (options.process === 'restarts') {
      dispatcher = new Dispatcher({ store, runtime, targets, keepsParked: true })
      dispatcher.wake()
    }
  }
  await clock.advance(11 * hourMs)
  state = 'up'
  if (options.process === 'stops') {
    dispatcher = new Dispatcher({ store, runtime, targets, keepsParked: true })
    dispatcher.wake()
  }
  await clock.advance(hourMs)
  await dispatcher.stop()
  await retention.stop()
  const ledger = await store.ledger()
  await store.close()
  return {
    windowMs: defaultRetryPolicy.windowMs,
    latestRoundMs: rounds.latestMs,
    deliveredTried,
    windowOver: gaveUp.reduce((sum, { deliveries }) => sum + deliveries, 0),
    ledger,
  }
}
