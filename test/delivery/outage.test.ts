import { describe, expect, test } from 'vitest'
import type { SettleRequest } from '../../src/delivery/index.ts'
import { StoreUnusableError } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { startMs } from '../support/recording-runtime.ts'
import {
  dispatching,
  HookedStore,
  quiet,
  ScriptedSender,
  target,
  type Dispatching,
  type Step,
} from './dispatching.ts'
import { answered } from './samples.ts'

/** A store in which chosen operations fail. */
class FailingStore extends HookedStore {
  readonly failing = new Set<Step>()
  readonly refused: SettleRequest[] = []
  isTemporary = true
  override before = (step: Step): Promise<void> =>
    this.failing.has(step) ? Promise.reject(this.#error()) : Promise.resolve()

  #error(): StoreUnusableError {
    return new StoreUnusableError({ message: 'disk is full', isTemporary: this.isTemporary })
  }
}

interface Outlasting extends Dispatching {
  readonly clock: ManualClock
  readonly failing: FailingStore
  readonly failures: unknown[]
  readonly sender: ScriptedSender
}

function outlasting(outlastsOutages = true): Outlasting {
  const failing = new FailingStore()
  const clock = new ManualClock(startMs)
  const sender = new ScriptedSender(() => answered(200))
  const failures: unknown[] = []
  const failed = (error: unknown): number => failures.push(error)
  const options = { store: failing, outlastsOutages, failed }
  return {
    ...dispatching([target('crm', sender)], clock, options),
    clock,
    failing,
    failures,
    sender,
  }
}

const waiting = [{ message: 'the store cannot be written at the moment', error: 'disk is full' }]
const over = { message: 'the store can be written again' }

describe('a store that temporarily cannot be written', () => {
  test('is tried again until it can, and nothing is sent twice', async () => {
    const { dispatcher, add, clock, failing, failures, sender, store, warnings } = outlasting()
    await add('crm', 3)
    failing.failing.add('settle')
    dispatcher.wake()
    await quiet()
    await clock.advance(5_000)
    expect(store.counts.settle).toBe(6)
    expect(warnings).toMatchObject(waiting)
    expect(await store.ledger()).toMatchObject({ delivered: 0, pending: 3 })
    failing.failing.clear()
    await clock.advance(1_000)
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 3, pending: 0 })
    expect(sender.bodies).toHaveLength(3)
    expect(warnings).toMatchObject([...waiting, over])
    expect(failures).toEqual([])
  })

  test('records the requests of all rounds once it can be written again', async () => {
    const { dispatcher, add, clock, failing, store } = outlasting()
    await add('crm', 2)
    failing.failing.add('settle')
    dispatcher.wake()
    await quiet()
    await add('crm', 1)
    dispatcher.wake()
    await quiet()
    failing.failing.clear()
    await clock.advance(1_000)
    await dispatcher.idle()
    const [last, , first] = await store.list({ filter: {}, limit: 10 })
    for (const delivery of [first!, last!]) {
      expect(await store.story(delivery)).toMatchObject({ requests: [{ outcome: 'success' }] })
    }
  })

  test('is tried once more when the dispatcher stops, which reports a failure', async () => {
    const { dispatcher, add, failing, failures, store } = outlasting()
    await add('crm')
    failing.failing.add('settle')
    dispatcher.wake()
    await quiet()
    await dispatcher.stop()
    expect(store.counts.settle).toBe(2)
    expect(failures).toMatchObject([{ message: 'disk is full' }])
  })

  test.each([
    ['without outlastsOutages', false, true],
    ['if the error is permanent', true, false],
  ])('is abandoned at once %s', async (_, outlastsOutages, isTemporary) => {
    const { dispatcher, add, failing, failures } = outlasting(outlastsOutages)
    failing.isTemporary = isTemporary
    await add('crm')
    failing.failing.add('settle')
    await expect(dispatcher.idle()).rejects.toThrow('disk is full')
    expect(failures).toHaveLength(1)
  })
})

describe('a store that temporarily cannot be read', () => {
  test.each(['claim', 'nextDue'] as const)('is tried again until it can: %s', async (step) => {
    const { dispatcher, add, clock, failing, failures, sender, store, warnings } = outlasting()
    await add('crm', 25)
    failing.failing.add(step)
    dispatcher.wake()
    await quiet()
    await clock.advance(3_000)
    expect(store.counts[step]).toBe(4)
    expect(sender.bodies).toEqual([])
    failing.failing.clear()
    await clock.advance(1_000)
    await dispatcher.idle()
    expect(sender.bodies).toHaveLength(25)
    expect(warnings.map(({ message }) => message)).toEqual([
      'the store cannot be read at the moment',
      'the store can be read again',
    ])
    expect(failures).toEqual([])
  })

  test('does not delay the stop of the dispatcher', async () => {
    const { dispatcher, add, failing, store } = outlasting()
    await add('crm')
    failing.failing.add('claim')
    dispatcher.wake()
    await quiet()
    await dispatcher.stop()
    expect(store.counts.claim).toBe(1)
  })
})
