import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Dispatcher, type DeliveryStore } from '../../../src/delivery/index.ts'
import { ManualClock, sleep } from '../../../src/runtime/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { ScriptedSender, target } from '../../delivery/dispatching.ts'
import { answered } from '../../delivery/samples.ts'
import { event, nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { recordingRuntime } from '../../support/recording-runtime.ts'

vi.setConfig({ testTimeout: 180_000 })

const databases = new PostgresDatabases()
const ids = Array.from({ length: 8 }, (_, index) => `d${index}`)
const answerMs = 4_000
const requestsMax = 8

/** Counts the pending calls of a store. After a kill, calls never return. */
class Calls {
  pending = 0
  isKilled = false

  of(store: DeliveryStore): DeliveryStore {
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (argument: unknown) => this.#count(() => value.call(target, argument) as never)
      },
    })
  }

  async #count<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.isKilled) return new Promise(() => undefined)
    this.pending++
    return call().finally(() => this.pending--)
  }
}

test('processes that share slow endpoints send each delivery once, except those in flight at a kill', async () => {
  const url = await databases.newUrl()
  const clock = new ManualClock(nowMs)
  const sent: string[] = []
  const calls = [new Calls(), new Calls(), new Calls()]
  const dispatchers: Dispatcher[] = []
  for (const each of calls) {
    let hear: Dispatcher['wake'] = () => undefined
    const store = await openPostgresStore(url, { onNotification: (dueTimes) => hear(dueTimes) })
    onTestFinished(() => store.close())
    const sender = new ScriptedSender(async (_, { body }) => {
      if (each.isKilled) await new Promise(() => undefined)
      sent.push(body)
      await sleep(clock, answerMs)
      return answered(200)
    })
    const targets = ids.map((id) => target(id, sender, 2))
    const { runtime } = recordingRuntime(clock)
    const dispatcher = new Dispatcher({ store: each.of(store), targets, runtime, requestsMax })
    hear = (dueTimes) => dispatcher.wake(dueTimes)
    dispatchers.push(dispatcher)
    if (dispatchers.length === 1) {
      const events = Array.from({ length: 60 }, (_, index) => event(`m_${index}`, ...ids))
      await store.add({ nowMs, seenSinceMs: 0, events, handOver: [] })
    }
  }
  const store = await openPostgresStore(url)
  onTestFinished(() => store.close())
  const isPending = async (): Promise<boolean> => (await store.ledger()).pending > 0
  let sentBeforeKill = Infinity
  for (let second = 0; second < 400 && (await isPending()); second++) {
    for (const dispatcher of dispatchers) dispatcher.wake()
    await clock.advance(1_000)
    while (calls.some(({ pending }) => pending > 0)) await nextTurn()
    if (second === 30) {
      calls[0]!.isKilled = true
      sentBeforeKill = sent.length
    }
  }
  expect(sentBeforeKill).toBeLessThan(480)
  expect(await store.ledger()).toMatchObject({ delivered: 480, pending: 0 })
  expect(new Set(sent).size).toBe(480)
  expect(sent.length - 480).toBeLessThanOrEqual(requestsMax)
  await Promise.all(dispatchers.slice(1).map((dispatcher) => dispatcher.stop()))
})
