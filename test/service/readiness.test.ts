import { describe, expect, test } from 'vitest'
import type { SendingHindrance } from '../../src/pipeline/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { Readiness } from '../../src/service/readiness.ts'
import type { ServiceRole } from '../../src/service/service-options.ts'
import { recordingRuntime, startMs } from '../support/recording-runtime.ts'

const silent = ['The store does not answer']
const hangs = (): Promise<void> => new Promise(() => undefined)

function createReadiness(role: ServiceRole = 'all') {
  const clock = new ManualClock(startMs)
  const { runtime } = recordingRuntime(clock)
  const state = {
    checks: 0,
    check: () => Promise.resolve(),
    hindrance: undefined as SendingHindrance | undefined,
  }
  const store = {
    checkWritable: () => {
      state.checks++
      return state.check()
    },
  }
  const readiness = new Readiness({ store, role, hindrance: () => state.hindrance, runtime })
  /** The response after this time. */
  const reasonsAfter = async (durationMs: number): Promise<readonly string[] | undefined> => {
    let reasons: readonly string[] | undefined
    void readiness.reasons().then((unmet) => (reasons = unmet))
    await clock.advance(durationMs)
    return reasons
  }
  return { clock, state, readiness, reasonsAfter }
}

describe('readiness', () => {
  test('is reported within two seconds while the store hangs, and the store is asked once', async () => {
    const { clock, state, readiness, reasonsAfter } = createReadiness()
    state.check = hangs
    expect(await reasonsAfter(1_499)).toBeUndefined()
    expect(await reasonsAfter(1)).toEqual(silent)
    await clock.advance(60_000)
    expect(await readiness.reasons()).toEqual(silent)
    expect(state.checks).toBe(1)
    expect(clock.nextDueMs()).toBeUndefined()
  })

  test('is restored as soon as the store answers', async () => {
    const { clock, state, readiness, reasonsAfter } = createReadiness()
    let answer = (): void => undefined
    state.check = () => new Promise((resolve) => (answer = resolve))
    expect(await reasonsAfter(2_000)).toEqual(silent)
    state.check = () => Promise.resolve()
    answer()
    await clock.advance(0)
    expect(await readiness.reasons()).toEqual([])
  })

  test('needs no check while events are being stored', async () => {
    const { clock, state, readiness } = createReadiness()
    state.check = hangs
    readiness.accepted()
    expect(await readiness.reasons()).toEqual([])
    await clock.advance(999)
    expect(await readiness.reasons()).toEqual([])
    expect(state.checks).toBe(0)
  })

  test('relies on events that were stored while a check waits for its turn', async () => {
    const { clock, state, readiness } = createReadiness()
    state.check = hangs
    const reasons = readiness.reasons()
    await clock.advance(1_000)
    readiness.accepted()
    await clock.advance(500)
    expect(await reasons).toEqual([])
  })

  test('writes to the store once a second, however often it is requested', async () => {
    const { clock, state, readiness } = createReadiness()
    await Promise.all([readiness.reasons(), readiness.reasons()])
    await clock.advance(999)
    await readiness.reasons()
    expect(state.checks).toBe(1)
    await clock.advance(1)
    await readiness.reasons()
    expect(state.checks).toBe(2)
  })

  test('forgets refused events once the clock, which ran ahead, is set back', async () => {
    const { clock, readiness } = createReadiness()
    clock.jump(60_000)
    readiness.refused()
    expect(await readiness.reasons()).toEqual(['The store or an archive does not accept events'])
    clock.jump(-60_000)
    expect(await readiness.reasons()).toEqual([])
  })

  const joining = ['The process has just joined others that share the store, and may not send yet']
  test.each([
    ['all', joining],
    ['deliver', joining],
    ['ingest', []],
  ] as const)('in the role %s waits for a share of the send rate: %j', async (role, reasons) => {
    const { state, readiness } = createReadiness(role)
    state.hindrance = 'joining'
    expect(await readiness.reasons()).toEqual(reasons)
    state.hindrance = undefined
    expect(await readiness.reasons()).toEqual([])
  })

  test('says that the clocks disagree rather than that the store then refuses events', async () => {
    const { state, readiness } = createReadiness()
    state.hindrance = 'clocks'
    readiness.refused()
    expect(await readiness.reasons()).toEqual([expect.stringContaining('clocks')])
  })

  test('reports closing ahead of any other reason', async () => {
    const { state, readiness } = createReadiness()
    state.check = hangs
    readiness.closing()
    expect(await readiness.reasons()).toEqual(['The service is closing'])
  })
})
