import { expect, test } from 'vitest'
import type { Backlog, DestinationCounts } from '../../src/delivery/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import { AddingBytes } from '../../src/pipeline/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { waitForRoom } from '../../src/service/backlog-room.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'

function destination(id: string, enabled = true) {
  const endpoints = [{ url: `https://example.com/${id}` }]
  return checkDestination({ id, sourceIds: ['website'], endpoints, backlogMax: 10, enabled })
}

const countsOf = (backlogs: readonly Backlog[]): Promise<readonly DestinationCounts[]> =>
  Promise.resolve(backlogs.map((backlog) => ({ ...emptyLedger, ...backlog })))

test('waits until every enabled destination is less than half full, with one question for all of them', async () => {
  const clock = new ManualClock(startMs)
  let backlogs: readonly Backlog[] = [
    { destinationId: 'crm', pending: 5 },
    { destinationId: 'off', pending: 10 },
    { destinationId: 'unrelated', pending: 1_000 },
  ]
  let queries = 0
  const store = { destinationCounts: () => countsOf((queries++, backlogs)) }
  const destinations = [destination('mail'), destination('crm'), destination('off', false)]
  const { signal } = new AbortController()
  const room = waitForRoom({ store, adding: new AddingBytes(), clock }, destinations, signal)
  await clock.advance(1_000)
  expect(queries).toBe(3)
  backlogs = [{ destinationId: 'crm', pending: 4 }]
  await clock.advance(500)
  expect(await room).toBe(true)
  expect(queries).toBe(4)
})

test('ends with false as soon as its signal aborts', async () => {
  const clock = new ManualClock(startMs)
  const store = { destinationCounts: () => countsOf([{ destinationId: 'crm', pending: 5 }]) }
  const ending = new AbortController()
  const backlog = { store, adding: new AddingBytes(), clock }
  const room = waitForRoom(backlog, [destination('crm')], ending.signal)
  await clock.advance(100)
  ending.abort()
  expect(await room).toBe(false)
  expect(clock.nextDueMs()).toBeUndefined()
})
