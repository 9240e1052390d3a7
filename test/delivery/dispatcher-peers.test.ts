import { expect, onTestFinished, test } from 'vitest'
import {
  Dispatcher,
  processGoneMs,
  type BreakerNews,
  type ProcessMembership,
} from '../../src/delivery/index.ts'
import { hiddenEndpoint } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'
import { eventsTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

const secondMs = 1_000
const crmUrl = 'https://example.com/crm'

/** Creates three processes that deliver from one store to one endpoint. */
function threeProcesses() {
  const clock = new ManualClock(startMs)
  const store = new HookedStore()
  const state = { status: 503, arrives: (() => true) as (news: BreakerNews) => boolean }
  const requests: { rank: number; afterMs: number }[] = []
  const processes = [0, 1, 2].map((rank) => {
    const membership: ProcessMembership = {
      destinationId: 'crm',
      rank,
      processes: 3,
      memberMs: processGoneMs,
    }
    const sender = new ScriptedSender(() => {
      requests.push({ rank, afterMs: clock.nowMs() - startMs })
      return answered(state.status)
    })
    const tell = (news: BreakerNews): void => {
      for (const other of processes) {
        if (other.rank !== rank && state.arrives(news)) other.dispatcher.hear(news)
      }
    }
    const { runtime, endpoints } = recordingRuntime(clock)
    const dispatcher = new Dispatcher({
      store,
      targets: [target('crm', sender, 3)],
      runtime,
      keepsParked: true,
      peers: { membershipOf: () => membership, tell },
    })
    onTestFinished(() => dispatcher.stop())
    return { rank, dispatcher, endpoints }
  })
  /** Adds events through the first process, then wakes all. */
  const add = async (count: number): Promise<void> => {
    await processes[0]!.dispatcher.add(eventsTo('crm', count))
    await wakeAll()
  }
  const wakeAll = async (): Promise<void> => {
    for (const { dispatcher } of processes) dispatcher.wake()
    for (let wait = 0; wait < 10; wait++) await quiet()
  }
  /** Lets time pass, and wakes all once a second, as pipelines do. Returns the requests. */
  const pass = async (seconds: number): Promise<readonly { rank: number; afterMs: number }[]> => {
    const before = requests.length
    for (let second = 0; second < seconds; second++) {
      await clock.advance(secondMs)
      await wakeAll()
    }
    return requests.slice(before)
  }
  return { store, state, processes, requests, add, pass }
}

test('an unreachable endpoint is probed once each time, by each process in turn', async () => {
  const { requests, add, pass } = threeProcesses()
  await add(300)
  expect(requests.length).toBeGreaterThanOrEqual(10)
  const probes = await pass(30 + 60 + 120 + 240 + 300)
  expect(probes.map(({ afterMs }) => afterMs / secondMs)).toEqual([30, 90, 210, 450, 750])
  const [first = NaN] = probes.map(({ rank }) => rank)
  expect(probes.map(({ rank }) => (rank - first + 3) % 3)).toEqual([0, 1, 2, 0, 1])
})

test('all processes use a recovered endpoint at once', async () => {
  const { store, state, processes, requests, add, pass } = threeProcesses()
  await add(300)
  expect(processes.map(({ endpoints }) => endpoints.at(-1)?.state)).toEqual([
    'open',
    'open',
    'open',
  ])
  state.status = 200
  const sent = await pass(30)
  expect(new Set(sent.map(({ rank }) => rank))).toEqual(new Set([0, 1, 2]))
  for (const { endpoints } of processes) {
    expect(endpoints.map(({ state: now }) => now)).toEqual(['open', 'recovering', 'closed'])
  }
  await pass(60)
  expect(await store.ledger()).toMatchObject({ delivered: 300, pending: 0 })
  expect(requests.length).toBeLessThan(330)
})

test('the next process probes 6 s later if the one whose turn it is has died', async () => {
  const { processes, add, pass } = threeProcesses()
  await add(300)
  const [probe] = await pass(30)
  const next = (probe!.rank + 1) % 3
  await processes[next]!.dispatcher.stop()
  const probes = await pass(60 + 6)
  expect(probes).toEqual([{ rank: (next + 1) % 3, afterMs: 96 * secondMs }])
})

test('lost news costs only time, because each process finds out by itself', async () => {
  const { store, state, requests, add, pass } = threeProcesses()
  state.arrives = () => false
  await add(300)
  expect(new Set(requests.map(({ rank }) => rank))).toEqual(new Set([0, 1, 2]))
  state.status = 200
  await pass(120)
  expect(await store.ledger()).toMatchObject({ delivered: 300, pending: 0 })
})

test('news about endpoints that this process does not send to changes nothing', async () => {
  const { processes } = threeProcesses()
  const [{ dispatcher, endpoints }] = processes as [(typeof processes)[0]]
  const news = { openMs: 30_000, rank: 1 }
  dispatcher.hear({ ...news, destinationId: 'mail', endpoint: hiddenEndpoint(crmUrl) })
  dispatcher.hear({ ...news, destinationId: 'crm', endpoint: 'https://example.com/' })
  await quiet()
  expect(endpoints).toEqual([])
  dispatcher.hear({ ...news, destinationId: 'crm', endpoint: hiddenEndpoint(crmUrl) })
  expect(endpoints).toMatchObject([{ state: 'open', url: crmUrl, error: null }])
})
