import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  RegulationWatch,
  watchEveryMs,
  type KeptArchive,
  type UnfinishedRegulation,
} from '../../src/privacy/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { KeptRegulations, notBegun } from './kept-regulations.ts'
import { makeRegulations, nothingArchived, outage } from './made-regulations.ts'
import { nowMs } from '../intake/support.ts'

/** Makes a store with regulations that another process has stored. */
function storeOf(...ids: readonly string[]): KeptRegulations {
  const store = new KeptRegulations()
  for (const id of ids) store.put({ ...notBegun, id })
  return store
}

const due = { isArchiveLeft: false, isDue: true }
const ofArchives = { isArchiveLeft: true, isDue: false }

describe('a regulation that another process has stored', () => {
  test('is carried out once it is found', async () => {
    const { regulations, store } = makeRegulations({ store: storeOf('reg_1') })
    regulations.found([{ id: 'reg_1', ...due }])
    await regulations.idle()
    expect(store.get('reg_1')).toMatchObject({ archive: nothingArchived, finishedAtMs: nowMs })
  })

  test('is checked when it is found again, and not every second', async () => {
    const { regulations, store, clock } = makeRegulations({ store: storeOf('reg_1') })
    store.waiting.add('reg_1')
    for (const times of [1, 2]) {
      regulations.found([{ id: 'reg_1', ...due }])
      await regulations.idle()
      await clock.advance(4_000)
      expect(store.erased).toHaveLength(times)
    }
  })

  test('waits for the archives of other processes, and takes no steps meanwhile', async () => {
    const { regulations, store, archiveRequests } = makeRegulations({ store: storeOf('reg_1') })
    store.change('reg_1', { archivesLeft: ['/archive on web-1'] })
    regulations.found([{ id: 'reg_1', isArchiveLeft: true, isDue: true }])
    await regulations.idle()
    expect(store.get('reg_1').finishedAtMs).toBeNull()
    const steps = store.steps.length
    regulations.found([{ id: 'reg_1', isArchiveLeft: false, isDue: false }])
    await regulations.idle()
    expect(store.steps).toHaveLength(steps)
    store.change('reg_1', { archivesLeft: [] })
    regulations.found([{ id: 'reg_1', ...due }])
    await regulations.idle()
    expect(store.get('reg_1').finishedAtMs).toBe(nowMs)
    expect(archiveRequests).toHaveLength(1)
  })

  test('erases the archives of this process after replays have ended, even if another process has erased its own', async () => {
    const store = storeOf('reg_1')
    store.change('reg_1', { archive: nothingArchived })
    const steps: string[] = []
    const { regulations } = makeRegulations({
      store,
      endReplays: () => Promise.resolve(void steps.push('end')),
      eraseArchives: () => {
        steps.push('erase')
        return Promise.resolve(nothingArchived)
      },
    })
    regulations.found([{ id: 'reg_1', ...ofArchives }])
    expect(regulations.holdsArchives).toBe(true)
    await regulations.idle()
    expect(steps).toEqual(['end', 'end', 'erase'])
    expect(regulations.holdsArchives).toBe(false)
  })

  test('erases only archives if other processes carry it out', async () => {
    const store = storeOf('reg_1', 'reg_2')
    const { regulations, archiveRequests } = makeRegulations({ store, erasesStore: false })
    regulations.found([
      { id: 'reg_1', isArchiveLeft: true, isDue: true },
      { id: 'reg_2', ...due },
    ])
    await regulations.idle()
    expect([archiveRequests.length, store.erased.length]).toEqual([1, 0])
    expect(store.steps).toEqual(['note reg_1'])
  })

  test('waits for the next start if it failed in this process', async () => {
    const store = storeOf('reg_1')
    store.failures.erase = [new Error('It is broken')]
    const { regulations, warnings } = makeRegulations({ store })
    for (let times = 0; times < 3; times++) {
      regulations.found([{ id: 'reg_1', ...due }])
      await regulations.idle()
    }
    expect(warnings).toHaveLength(1)
  })
})

/** Creates a watch. A test sets its archives, and an error of the store. */
function makeWatch() {
  const clock = new ManualClock(nowMs)
  const { runtime, warnings } = recordingRuntime(clock)
  const registered: (readonly KeptArchive[])[] = []
  const requests: (readonly string[])[] = []
  const found: (readonly UnfinishedRegulation[])[] = []
  const given = {
    archives: [{ id: 'a_1', name: '/archive' }],
    failure: undefined as Error | undefined,
  }
  const answer: readonly UnfinishedRegulation[] = [{ id: 'reg_1', ...due }]
  const watch = new RegulationWatch({
    shared: {
      register: ({ archives }) => Promise.resolve(void registered.push(archives)),
      unfinished: ({ archiveIds }) => {
        requests.push(archiveIds)
        return given.failure === undefined ? Promise.resolve(answer) : Promise.reject(given.failure)
      },
      release: () => Promise.resolve(false),
    },
    archives: () => Promise.resolve(given.archives),
    found: (regulations) => void found.push(regulations),
    runtime,
  })
  onTestFinished(() => watch.close())
  return { watch, clock, warnings, registered, requests, found, given, answer }
}

describe('a watch', () => {
  test('looks for regulations every few seconds, and registers archives at first and when they change', async () => {
    const { watch, clock, registered, requests, found, given, answer } = makeWatch()
    const first = given.archives
    await watch.register()
    watch.start()
    await vi.waitUntil(() => found.length === 1)
    await clock.advance(watchEveryMs)
    expect(found).toEqual([answer, answer])
    expect(registered).toEqual([first])
    given.archives = [...first, { id: 'a_2', name: '/other' }]
    await clock.advance(watchEveryMs)
    expect(registered).toEqual([first, given.archives])
    expect(requests.at(-1)).toEqual(['a_1', 'a_2'])
  })

  test('says once that the store does not answer, and continues', async () => {
    const { watch, clock, warnings, found, given } = makeWatch()
    given.failure = outage
    watch.start()
    await clock.advance(3 * watchEveryMs)
    expect(warnings).toHaveLength(1)
    given.failure = undefined
    await clock.advance(watchEveryMs)
    expect(found).toHaveLength(1)
    await watch.close()
    await clock.advance(3 * watchEveryMs)
    expect(found).toHaveLength(1)
  })
})
