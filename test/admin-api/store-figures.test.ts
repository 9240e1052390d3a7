import { expect, test } from 'vitest'
import { queueStates, StoreFiguresWatch, type QueueState } from '../../src/admin-api/index.ts'
import { emptyLedger } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const queues: readonly QueueState[] = [{ destinationId: 'crm', pending: 7, oldestDueAtMs: null }]

function createWatch() {
  const clock = new ManualClock(startMs)
  const { runtime, warnings } = recordingRuntime(clock)
  const store = { isFirst: true, queries: 0, answer: () => Promise.resolve(queues) }
  const watch = new StoreFiguresWatch({
    queues: () => {
      store.queries++
      return store.answer()
    },
    isFirst: () => store.isFirst,
    runtime,
  })
  return { clock, warnings, store, watch }
}

test('a store is measured every five seconds, and the last figures are kept if it does not answer', async () => {
  const { clock, warnings, store, watch } = createWatch()
  expect(watch.latest).toBeUndefined()
  await watch.start()
  expect(watch.latest).toEqual({ queues, tables: [], measuredAtMs: startMs })
  await clock.advance(5_000)
  const measured = { queues, tables: [], measuredAtMs: startMs + 5_000 }
  expect(watch.latest).toEqual(measured)
  store.answer = () => Promise.reject(new Error('it is gone'))
  await clock.advance(5_000)
  expect(watch.latest).toEqual(measured)
  expect(warnings).toEqual([{ message: 'the store could not be measured', error: 'it is gone' }])
  // While a measurement hangs, no further one starts.
  store.answer = () => new Promise(() => undefined)
  await clock.advance(60_000)
  expect(store.queries).toBe(4)
  expect(watch.latest).toEqual(measured)
})

test('only the first of the processes that share a store measures it', async () => {
  const { clock, store, watch } = createWatch()
  store.isFirst = false
  await watch.start()
  expect({ queries: store.queries, latest: watch.latest }).toEqual({
    queries: 0,
    latest: undefined,
  })
  store.isFirst = true
  await clock.advance(5_000)
  expect(watch.latest).toMatchObject({ queues })
  store.isFirst = false
  expect(watch.latest).toBeUndefined()
})

test('no measurement starts after stop()', async () => {
  const { clock, store, watch } = createWatch()
  await watch.start()
  watch.stop()
  await clock.advance(60_000)
  expect(store.queries).toBe(1)
  expect(clock.nextDueMs()).toBeUndefined()
})

test('queues are measured with two questions to the store, however many destinations there are', async () => {
  const queried: string[] = []
  const ids = Array.from({ length: 100 }, (_, index) => `d${index}`)
  const states = await queueStates(
    {
      destinationCounts: () => {
        queried.push('counts')
        return Promise.resolve([{ ...emptyLedger, destinationId: 'd7', pending: 3 }])
      },
      nextDue: ({ destinationIds }) => {
        queried.push(`due times of ${destinationIds.length}`)
        return Promise.resolve([{ destinationId: 'd7', lane: 'first', dueAtMs: startMs }])
      },
    },
    ids,
    startMs,
  )
  expect(queried).toEqual(['counts', 'due times of 100'])
  expect(states).toHaveLength(100)
  expect(states[7]).toEqual({ destinationId: 'd7', pending: 3, oldestDueAtMs: startMs })
})
