import { expect, onTestFinished, test, vi } from 'vitest'
import { Dispatcher } from '../../../src/delivery/index.ts'
import { ManualClock } from '../../../src/runtime/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { RequestOutcome } from '../../../src/webhook/index.ts'
import { eventTo, ScriptedSender, target } from '../../delivery/dispatching.ts'
import { answered } from '../../delivery/samples.ts'
import { PostgresDatabases } from '../../support/postgres.ts'
import { recordingRuntime, startMs } from '../../support/recording-runtime.ts'

const databases = new PostgresDatabases()
const destinations = 20
const badOnes = 4
const eventsEach = 60
const concurrency = 10
const badEvents = badOnes * eventsEach
const healthyEvents = destinations * eventsEach - badEvents

const answersEveryTime = (): RequestOutcome => answered(200)
const neverAnswers = (): Promise<RequestOutcome> => new Promise(() => undefined)

/** Opens a dispatcher with twenty destinations, of which every fifth never answers. */
async function openDispatcher() {
  const clock = new ManualClock(startMs)
  const store = await openPostgresStore(await databases.newUrl())
  const all = Array.from({ length: destinations }, (_, index) => {
    const isBad = index % (destinations / badOnes) === 0
    const sender = new ScriptedSender(isBad ? neverAnswers : answersEveryTime)
    return { id: `d${index}`, isBad, sender }
  })
  const targets = all.map(({ id, sender }) => target(id, sender, concurrency))
  const dispatcher = new Dispatcher({ store, targets, runtime: recordingRuntime(clock).runtime })
  // The hanging requests never end.
  onTestFinished(() => store.close())
  return { clock, store, all, dispatcher }
}

type Opened = Awaited<ReturnType<typeof openDispatcher>>

async function expectHealthyDone({ clock, store, all }: Opened): Promise<void> {
  const delivered = async () => (await store.ledger()).delivered
  await vi.waitUntil(async () => (await delivered()) >= healthyEvents, { timeout: 30_000 })
  expect(clock.nowMs()).toBe(startMs)
  for (const { isBad, sender } of all) {
    expect(sender.bodies).toHaveLength(isBad ? concurrency : eventsEach)
  }
  expect(await store.ledger()).toMatchObject({ delivered: healthyEvents, pending: badEvents })
  const { counted } = await store.audit()
  expect(counted).toMatchObject({ delivered: healthyEvents, pending: badEvents })
}

test('hanging destinations do not delay the others while events arrive', async () => {
  const one = await openDispatcher()
  for (let number = 0; number < eventsEach; number += 10) {
    const batch = Array.from({ length: 10 }, (_, index) =>
      one.all.map(({ id }) => eventTo(id, `${id}_${number + index}`)),
    )
    await one.dispatcher.add(batch.flat())
  }
  await expectHealthyDone(one)
})

test('hanging destinations with older deliveries do not delay the others', async () => {
  const one = await openDispatcher()
  const [bad, healthy] = [true, false].map((isBad) =>
    one.all.filter((each) => each.isBad === isBad),
  )
  for (const some of [bad!, healthy!]) {
    const events = some.flatMap(({ id }) =>
      Array.from({ length: eventsEach }, (_, index) => eventTo(id, `${id}_${index}`)),
    )
    // Not through the dispatcher, as if an earlier process had added them.
    await one.store.add({ nowMs: startMs, seenSinceMs: 0, events, handOver: [] })
  }
  one.dispatcher.wake()
  await expectHealthyDone(one)
})
