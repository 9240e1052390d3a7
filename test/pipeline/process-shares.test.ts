import { describe, expect, onTestFinished, test } from 'vitest'
import {
  ClocksDisagreeError,
  membershipHoldsMs,
  heartbeatMs,
  processGoneMs,
  type BreakerNews,
  type DeliveringProcesses,
  type Heartbeat,
} from '../../src/delivery/index.ts'
import { StoreUnusableError } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { ProcessShares } from '../../src/pipeline/process-shares.ts'
import { checkDestination } from '../../src/webhook/index.ts'
import { gate } from '../support/gate.ts'
import { ProcessRegistry } from '../support/process-registry.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const crm = checkDestination({
  id: 'crm',
  sourceIds: ['website'],
  endpoints: [{ url: 'https://example.com/crm' }],
})

const outage = new StoreUnusableError({ message: 'Cannot use the store', isTemporary: true })

/** Processes whose heartbeats a test can make fail or wait. */
class HookedProcesses implements DeliveringProcesses {
  readonly #registry: ProcessRegistry
  before: () => Promise<unknown> = () => Promise.resolve()
  heartbeats = 0
  readonly news: BreakerNews[] = []

  constructor(registry: ProcessRegistry) {
    this.#registry = registry
  }

  async heartbeat(request: Heartbeat): ReturnType<DeliveringProcesses['heartbeat']> {
    this.heartbeats++
    await this.before()
    return this.#registry.heartbeat(request)
  }

  leave(request: { readonly processId: string }): Promise<void> {
    return this.#registry.leave(request)
  }

  tell(news: BreakerNews): void {
    this.news.push(news)
  }

  listen(): void {}
}

/** Creates a store with one clock. `start` starts a process that delivers from it. */
function world() {
  const clock = new ManualClock(startMs)
  const registry = new ProcessRegistry(() => clock.nowMs())
  let ids = 0
  const start = async () => {
    const processes = new HookedProcesses(registry)
    const recording = recordingRuntime(clock)
    const failures: unknown[] = []
    const runtime = { ...recording.runtime, newId: () => `p-${++ids}` }
    const state = { changes: 0, destinationIds: ['crm'] as readonly string[] }
    const shares = new ProcessShares({
      looksAfterStore: true,
      processes,
      destinationIds: () => state.destinationIds,
      runtime,
      changed: () => state.changes++,
      failed: (error) => failures.push(error),
    })
    onTestFinished(() => shares.close())
    expect(shares.shareOf(crm).concurrency).toBe(0)
    shares.start()
    await clock.advance(0)
    const share = (): number => shares.shareOf(crm).concurrency
    return { ...recording, shares, processes, failures, state, share }
  }
  return { clock, start }
}

describe('processes that share a store', () => {
  test('give a process that is alone the whole concurrency with its first heartbeat', async () => {
    const { start } = world()
    const { share, state } = await start()
    expect(share()).toBe(10)
    expect(state.changes).toBe(1)
  })

  test('stop sending at once if their clock is wrong, and say so until the clocks agree', async () => {
    const { clock, start } = world()
    const { share, shares, processes, state, warnings } = await start()
    const wrong = new ClocksDisagreeError({ message: 'The clock says one' })
    const changesBefore = state.changes
    processes.before = () => Promise.reject(wrong)
    await clock.advance(heartbeatMs)
    expect([share(), shares.maySend, state.changes]).toEqual([0, false, changesBefore + 1])
    await clock.advance(2 * membershipHoldsMs)
    processes.before = () => Promise.resolve()
    await clock.advance(500)
    expect(share()).toBe(10)
    expect(warnings).toEqual([
      {
        message: 'sending stops until the clocks agree: other processes may take over',
        error: wrong.message,
      },
      { message: 'the clocks agree again: sending resumes' },
    ])
  })

  test('report that another process has joined or is gone', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    await clock.advance(heartbeatMs)
    second.processes.before = () => Promise.reject(outage)
    await clock.advance(processGoneMs + heartbeatMs)
    const message = 'the number of processes that share the store changed'
    expect(first.infos.filter((line) => line.message === message)).toEqual([
      { message, before: 1, now: 2 },
      { message, before: 2, now: 1 },
    ])
  })

  test('make room for a newcomer with their next heartbeat, and the newcomer waits for all of them', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    expect([first.share(), second.share()]).toEqual([10, 0])
    expect(first.shares.shareOf(crm).rateShare).toBe(1)
    await clock.advance(heartbeatMs)
    expect(first.shares.shareOf(crm).rateShare).toBe(0.5)
    expect([first.share(), second.share()]).toEqual([5, 0])
    await clock.advance(processGoneMs - heartbeatMs - 1)
    expect([first.share(), second.share()]).toEqual([5, 0])
    await clock.advance(1)
    expect([first.share(), second.share()]).toEqual([5, 5])
  })

  test('report that they are joining until they may send, and not again later', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    expect([first.shares.hindrance, second.shares.hindrance]).toEqual([undefined, 'joining'])
    await clock.advance(processGoneMs - 1)
    expect(second.shares.hindrance).toBe('joining')
    await clock.advance(1)
    expect(second.shares.hindrance).toBeUndefined()
    expect(second.share()).toBe(5)
    first.state.destinationIds = second.state.destinationIds = ['crm', 'mail']
    await clock.advance(heartbeatMs)
    expect([first.shares.hindrance, second.shares.hindrance]).toEqual([undefined, undefined])
  })

  test('report if the store does not answer them, and join again after they counted as gone', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    await clock.advance(2 * processGoneMs)
    second.processes.before = () => Promise.reject(outage)
    await clock.advance(membershipHoldsMs + heartbeatMs)
    expect([first.shares.hindrance, second.shares.hindrance]).toEqual([undefined, 'store'])
    await clock.advance(processGoneMs)
    second.processes.before = () => Promise.resolve()
    await clock.advance(heartbeatMs)
    expect(second.shares.hindrance).toBe('joining')
  })

  test('include a first one, which stays the first until it leaves, whether it sends or not', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    first.state.destinationIds = []
    await clock.advance(processGoneMs)
    expect([first.shares.isFirst, second.shares.isFirst]).toEqual([true, false])
    first.processes.before = () => Promise.reject(outage)
    await clock.advance(2 * heartbeatMs)
    // It sends nothing, so it does not warn about an outage.
    expect(first.warnings).toEqual([])
    expect(first.shares.isFirst).toBe(true)
    await first.shares.close()
    await clock.advance(heartbeatMs)
    expect(second.shares.isFirst).toBe(true)
  })

  test('leave their share to the others when they close', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    await clock.advance(2 * processGoneMs)
    await second.shares.close()
    expect(second.share()).toBe(0)
    await clock.advance(heartbeatMs)
    expect(first.share()).toBe(10)
    const { heartbeats } = second.processes
    await clock.advance(processGoneMs)
    expect(second.processes.heartbeats).toBe(heartbeats)
  })

  test('stop sending long before others take over if their heartbeats fail', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    await clock.advance(2 * processGoneMs)
    second.processes.before = () => Promise.reject(outage)
    await clock.advance(membershipHoldsMs)
    expect(second.share()).toBe(0)
    expect(second.shares.maySend).toBe(false)
    expect(first.share()).toBe(5)
    expect(second.warnings).toHaveLength(1)
    await clock.advance(processGoneMs)
    expect(first.share()).toBe(10)
    second.processes.before = () => Promise.resolve()
    await clock.advance(heartbeatMs)
    expect(second.warnings).toHaveLength(2)
    expect([first.share(), second.share()]).toEqual([5, 0])
    await clock.advance(processGoneMs + heartbeatMs)
    expect([first.share(), second.share()]).toEqual([5, 5])
  })

  test('keep their share if their heartbeats fail only for a short time', async () => {
    const { clock, start } = world()
    const { processes, share, state, warnings } = await start()
    processes.before = () => Promise.reject(outage)
    await clock.advance(membershipHoldsMs - 500)
    processes.before = () => Promise.resolve()
    await clock.advance(1_000)
    const { changes } = state
    await clock.advance(heartbeatMs)
    expect(share()).toBe(10)
    expect(state.changes).toBe(changes + 1)
    expect(warnings.length).toBeLessThanOrEqual(2)
  })

  test('share a new destination from the next heartbeat on', async () => {
    const { clock, start } = world()
    const { state, shares } = await start()
    const mail = { ...crm, id: 'mail' }
    expect(shares.shareOf(mail).concurrency).toBe(0)
    state.destinationIds = ['crm', 'mail']
    await clock.advance(heartbeatMs)
    expect(shares.shareOf(mail).concurrency).toBe(10)
  })

  test('take no share of destinations to which they do not send', async () => {
    const { clock, start } = world()
    const [first, second] = [await start(), await start()]
    second.state.destinationIds = ['mail']
    await clock.advance(2 * processGoneMs)
    expect(first.share()).toBe(10)
  })
})

describe('the time for which a heartbeat is valid', () => {
  test('begins with the heartbeat, not with its answer', async () => {
    const { clock, start } = world()
    const { processes, share } = await start()
    const { opened, open } = gate()
    const next = gate()
    processes.before = () => opened
    await clock.advance(heartbeatMs + membershipHoldsMs - 500)
    processes.before = () => next.opened
    open()
    await clock.advance(0)
    expect(share()).toBe(10)
    await clock.advance(500)
    expect(share()).toBe(0)
    next.open()
  })

  test('ends for a suspended process before any timer fires', async () => {
    const { clock, start } = world()
    const { shares, share } = await start()
    // No timer fires, as in a process after SIGSTOP.
    clock.jump(membershipHoldsMs)
    expect(shares.maySend).toBe(false)
    expect(share()).toBe(0)
  })
})

test('a permanent error is reported, and no more heartbeats are sent', async () => {
  const { clock, start } = world()
  const { processes, failures, share } = await start()
  const error = new StoreUnusableError({ message: 'Cannot use the store: permission denied' })
  processes.before = () => Promise.reject(error)
  await clock.advance(3 * processGoneMs)
  expect(failures).toEqual([error])
  expect(processes.heartbeats).toBe(2)
  expect(share()).toBe(0)
})
