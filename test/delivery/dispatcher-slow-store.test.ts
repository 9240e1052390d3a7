import { expect, test } from 'vitest'
import { ManualClock, sleep } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, HookedStore, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

const destinations = 200
const requestMs = 160

test('claims that take 200 ms do not slow down sending at the maximum of requests', async () => {
  const clock = new ManualClock(startMs)
  const store = new HookedStore()
  store.before = async (step) => {
    if (step === 'claim') await sleep(clock, 200)
  }
  const sender = new ScriptedSender(async () => {
    await sleep(clock, requestMs)
    return answered(200)
  })
  const ids = Array.from({ length: destinations }, (_, index) => `crm_${index}`)
  const targets = ids.map((id) => target(id, sender))
  const { dispatcher, add } = dispatching(targets, clock, { store, requestsMax: 128 })
  for (const id of ids) await add(id, 40)
  dispatcher.wake()
  await clock.advance(1_000)
  const { delivered: before } = await store.ledger()
  await clock.advance(5_000)
  const { delivered } = await store.ledger()
  // 128 requests at once that take 160 ms each: 800 per second.
  expect((delivered - before) / 5).toBeGreaterThanOrEqual(0.8 * 800)
  const stopping = dispatcher.stop()
  await clock.advance(1_000)
  await stopping
})
