import { describe, expect, test } from 'vitest'
import { leasedOf, type AddRequest, type ClaimRequest } from '../../src/delivery/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { gate, type Gate } from '../support/gate.ts'
import { startMs } from '../support/recording-runtime.ts'
import { dispatching, eventsTo, HookedStore, quiet, ScriptedSender, target } from './dispatching.ts'
import { answered } from './samples.ts'

const leaseMs = 60_000

/** A store whose leases expire. It records when each began. */
class ExpiringStore extends HookedStore {
  readonly leasedAtMs = new Map<string, number>()

  override async add(batch: AddRequest) {
    const added = await super.add(batch)
    for (const { body } of leasedOf(batch, added.leased)) this.leasedAtMs.set(body, batch.nowMs)
    return { ...added, leased: expiring(added.leased, batch.nowMs) }
  }

  override async claim(request: ClaimRequest) {
    const claimed = await super.claim(request)
    for (const { body } of claimed) this.leasedAtMs.set(body, request.nowMs)
    return expiring(claimed, request.nowMs)
  }
}

function expiring<Leased extends object>(leased: readonly Leased[], atMs: number) {
  return leased.map((each) => ({ ...each, leasedUntilMs: atMs + leaseMs }))
}

/** Creates a dispatcher with one request at a time, which waits until `end` answers it. */
function slow() {
  const clock = new ManualClock(startMs)
  const store = new ExpiringStore()
  const gates: Gate[] = []
  const agesMs: number[] = []
  const sender = new ScriptedSender(async (_, { body }) => {
    agesMs.push(clock.nowMs() - store.leasedAtMs.get(body)!)
    const one = gate()
    gates.push(one)
    await one.opened
    return answered(200)
  })
  const all = dispatching([target('crm', sender, 1)], clock, { store })
  return { ...all, clock, store, sender, agesMs, end: () => gates.shift()?.open() }
}

describe('a lease that expires', () => {
  test.each(['handed over', 'claimed'] as const)(
    'is returned after two thirds of its time if its delivery has not started (%s)',
    async (how) => {
      const { dispatcher, add, clock, store, end } = slow()
      await dispatcher.idle()
      if (how === 'claimed') await add('crm', 2)
      else await dispatcher.add(eventsTo('crm', 2))
      dispatcher.wake()
      await quiet()
      clock.jump((leaseMs * 2) / 3 - 1)
      dispatcher.wake()
      await quiet()
      expect(store.counts.settle).toBe(0)
      clock.jump(1)
      dispatcher.wake()
      await quiet()
      expect(store.counts.settle).toBe(1)
      end()
      await quiet()
      end()
      await dispatcher.idle()
      expect(await store.ledger()).toMatchObject({ delivered: 2 })
    },
  )

  test('is not used by a process that was suspended until it expired', async () => {
    const { dispatcher, add, clock, store, sender, agesMs, end } = slow()
    await add('crm', 6)
    dispatcher.wake()
    await quiet()
    for (let request = 1; request <= 6; request++) {
      // As after SIGSTOP, no timer fires before the answer arrives.
      clock.jump(leaseMs)
      end()
      await quiet()
      expect(sender.bodies).toHaveLength(Math.min(request + 1, 6))
    }
    expect(Math.max(...agesMs)).toBe(0)
    await dispatcher.idle()
    expect(await store.ledger()).toMatchObject({ delivered: 6, pending: 0 })
  })

  test('stays expired if the clock is set back', async () => {
    const { dispatcher, add, clock, agesMs, end } = slow()
    await add('crm', 2)
    dispatcher.wake()
    await quiet()
    clock.jump(leaseMs)
    dispatcher.wake()
    await quiet()
    clock.jump(-3_600_000)
    end()
    await quiet()
    expect(agesMs).toHaveLength(2)
    expect(agesMs[1]).toBeLessThan((leaseMs * 2) / 3)
    end()
    await dispatcher.idle()
  })
})

test('only settlements that took effect are reported', async () => {
  const store = new HookedStore()
  const sender = new ScriptedSender(() => answered(200))
  const clock = new ManualClock(startMs)
  const { dispatcher, add, settled } = dispatching([target('crm', sender)], clock, { store })
  await add('crm', 3)
  const settle = store.settle.bind(store)
  store.settle = async (batch) => {
    const effective = await settle(batch)
    return effective.filter(({ delivery }) => delivery.messageId !== 'm_2')
  }
  await dispatcher.idle()
  expect(settled.map(({ messageId }) => messageId)).toEqual(['m_1', 'm_3'])
})
