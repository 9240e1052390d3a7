import { describe, expect, test } from 'vitest'
import { emptyLedger } from '../../src/model/index.ts'
import { leaver, member, memberWith, type AudiencesUnderTest } from './audience-store-under-test.ts'

/** Tests members who are suppressed users. */
export function suppressedSuite(tested: AudiencesUnderTest): void {
  describe('suppressed users', () => {
    test('do not become members, and no call is sent', async () => {
      await tested.suppress('r_1', 's', '')
      const sync = await tested.beginSync()
      const withAddress = memberWith({ userId: 's', email: 's@example.com' })
      const unknown = memberWith({ anonymousId: 's' })
      const list = [member('s'), member('a'), withAddress, unknown, member('s', '2')]
      expect(await sync.take(...list)).toEqual([
        'suppressed',
        'entered',
        'suppressed',
        'entered',
        'suppressed',
      ])
      expect(await sync.finish()).toEqual([])
      expect(await tested.calls()).toEqual([member('a'), unknown])
      expect(await tested.members()).toEqual([member('a'), unknown])
      expect(await tested.audience()).toMatchObject({ members: 2 })
      const counts = { accepted: 2, routed: 2, deliveries: 2, delivered: 2 }
      expect(await tested.store.ledger()).toEqual({ ...emptyLedger, ...counts })
    })

    test('stay members while lists contain them, without calls', async () => {
      await tested.sync([member('s', '1'), member('a', '1')])
      await tested.calls()
      await tested.suppress('r_1', 's')
      const sync = await tested.beginSync()
      expect(await sync.take(member('s', '2'))).toEqual(['suppressed'])
      expect(await sync.take(member('s', '1'), member('a', '1'))).toEqual([
        'suppressed',
        'unchanged',
      ])
      expect(await sync.finish()).toEqual([])
      expect(await tested.calls()).toEqual([])
      expect(await tested.members()).toEqual([member('a', '1'), member('s', '1')])
    })

    test('leave without a call', async () => {
      await tested.sync([member('s'), member('a')])
      await tested.calls()
      await tested.suppress('r_1', 's')
      const sync = await tested.beginSync()
      expect(await sync.finish()).toHaveLength(2)
      expect(await tested.calls()).toEqual([leaver('a')])
      expect(await tested.members()).toEqual([])
      expect(await tested.store.ledger()).toMatchObject({ accepted: 3, suppressed: 0 })
    })

    test('get the missed calls once they are unsuppressed', async () => {
      await tested.sync([member('s', '1'), member('t', '1')])
      await tested.calls()
      await tested.suppress('r_1', 's', 't', 'u')
      await tested.sync([member('s', '2'), member('u', '2')])
      expect(await tested.calls()).toEqual([])
      await tested.unsuppress('r_2', 's', 't', 'u')
      const sync = await tested.beginSync()
      const list = [member('s', '2'), member('t', '2'), member('u', '2')]
      expect(await sync.take(...list)).toEqual(['changed', 'entered', 'entered'])
      await sync.finish()
      expect(await tested.calls()).toEqual(list)
    })
  })

  describe('a step whose changes are planned', () => {
    test('takes no user who is suppressed before it is written', async () => {
      const sync = await tested.beginSync()
      sync.betweenPlanAndWrite = () => tested.suppress('r_1', 's')
      expect(await sync.take(member('s'), member('a'))).toEqual(['suppressed', 'entered'])
      expect(await tested.calls()).toEqual([member('a')])
      expect(await tested.members()).toEqual([member('a')])
    })

    test('lets users who are suppressed before it is written leave without a call', async () => {
      await tested.sync([member('s'), member('a')])
      await tested.calls()
      const sync = await tested.beginSync()
      sync.betweenPlanAndWrite = () => tested.suppress('r_1', 's')
      expect(await sync.finish()).toHaveLength(2)
      expect(await tested.calls()).toEqual([leaver('a')])
      expect(await tested.members()).toEqual([])
    })

    test('is written once if two steps of a sync name the same member concurrently', async () => {
      const sync = await tested.beginSync()
      const outcomes = await Promise.all([sync.take(member('a')), sync.take(member('a'))])
      expect(outcomes.flat().toSorted()).toEqual(['entered', 'repeated'])
      expect(await tested.calls()).toEqual([member('a')])
    })

    test('is not written if another sync begins before', async () => {
      const sync = await tested.beginSync()
      sync.betweenPlanAndWrite = () => tested.beginSync()
      expect(await sync.tryTake(member('a'))).toEqual({ kind: 'superseded' })
      expect(await tested.calls()).toEqual([])
    })

    test('lets the store do other work meanwhile', async () => {
      const sync = await tested.beginSync()
      sync.betweenPlanAndWrite = () => tested.sync([member('b')], { audience: { key: 'other' } })
      expect(await sync.take(member('a'))).toEqual(['entered'])
      expect(await tested.calls()).toEqual([member('a')])
    })
  })
}
