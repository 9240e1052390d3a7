import { describe, expect, test } from 'vitest'
import type { Member } from '../../src/audience/index.ts'
import {
  inOrder,
  leaver,
  member,
  memberWith,
  userOf,
  type AudiencesUnderTest,
} from './audience-store-under-test.ts'

/** Identities that look alike but are all different. */
const lookalikes: readonly Member[] = [
  { userId: 'x' },
  { anonymousId: 'x' },
  { userId: 'x', email: 'x' },
  { anonymousId: 'x', email: 'x' },
  { userId: 'x', anonymousId: 'x' },
  { userId: 'x', anonymousId: 'x', email: 'x' },
  { userId: '' },
  { anonymousId: '' },
  { userId: '', anonymousId: '', email: '' },
  { userId: 'x', email: '' },
  { userId: 'X' },
  { userId: 'x ' },
  { userId: 'null' },
  { userId: '__proto__' },
  { userId: 'constructor', email: '__proto__' },
  { userId: 'x\0' },
  { userId: 'x\0y' },
  { userId: '\u001a' },
  { userId: '\u001a0000' },
  { userId: '\ud800' },
  { userId: '\udc00' },
  { userId: '\ud800\udc00' },
  { userId: '\ufffd' },
  { userId: 'é' },
  { userId: 'e\u0301' },
  { userId: "x', '" },
  { userId: '["x"]', anonymousId: '","' },
  { userId: `${'long'.repeat(5_000)}a` },
  { userId: `${'long'.repeat(5_000)}b` },
].map((identifiers) => memberWith(identifiers))

/** Tests which identities count as the same member, and which as the same user. */
export function identitiesSuite(tested: AudiencesUnderTest): void {
  describe('identities', () => {
    test('differ if any identifier differs, whatever its characters', async () => {
      const sync = await tested.beginSync()
      expect(await sync.take(...lookalikes)).toEqual(lookalikes.map(() => 'entered'))
      expect(await sync.take(...lookalikes)).toEqual(lookalikes.map(() => 'repeated'))
      expect(await sync.finish(3)).toEqual([])
      expect(await tested.calls()).toEqual(lookalikes)
      expect(await tested.members('vip', 2)).toEqual(inOrder(lookalikes))
      expect(await tested.audience()).toMatchObject({ members: lookalikes.length })
    })

    test('leave under the userId or anonymousId with which they entered', async () => {
      await tested.sync(lookalikes)
      await tested.calls()
      const stays = memberWith({ anonymousId: 'x' })
      const sync = await tested.beginSync()
      expect(await sync.take(stays)).toEqual(['unchanged'])
      const released = await sync.finish(4)
      expect(new Set(released.map(userOf)).size).toBe(released.length)
      const users = lookalikes.map(({ identity }) => userOf(identity))
      const expected = new Set(users.filter((user) => user !== userOf(stays.identity)))
      const calls = await tested.calls()
      expect(calls.map(({ identity }) => userOf(identity)).toSorted()).toEqual(
        [...expected].toSorted(),
      )
      expect(calls.every(({ value }) => value === null)).toBe(true)
      expect(await tested.members()).toEqual([stays])
    })

    test('with different userIds and one email get a call each', async () => {
      const profile = ['u_1', 'u_2'].map((userId) => memberWith({ userId, email: 'a@example.com' }))
      await tested.sync(profile)
      expect(await tested.calls()).toEqual(profile)
      await tested.sync([profile[0]!])
      expect(await tested.calls()).toEqual([{ ...profile[1], value: null }])
    })

    test.each([
      ['email', { userId: 'u_1', email: 'old' }, { userId: 'u_1', email: 'new' }],
      ['anonymousId', { userId: 'u_1', anonymousId: 'old' }, { userId: 'u_1' }],
      ['email', { anonymousId: 'a_1', email: 'old' }, { anonymousId: 'a_1' }],
    ])('send no leave call for a user whose %s changed', async (_, before, after) => {
      await tested.sync([memberWith(before), member('u_2')])
      await tested.calls()
      const sync = await tested.beginSync()
      const moved = memberWith(after)
      expect(await sync.take(moved)).toEqual(['entered'])
      expect(await sync.finish(1)).toEqual([member('u_2').identity])
      expect(await tested.members()).toEqual([moved])
      expect(await tested.audience()).toMatchObject({ members: 1 })
      expect(await tested.calls()).toEqual([moved, leaver('u_2')])
    })

    test.each([1, 10])(
      'of one user send one leave call, with %i rows per release',
      async (rowsMax) => {
        const emails = ['a', 'b', 'c'].map((email) => memberWith({ userId: 'u_1', email }))
        await tested.sync(emails)
        await tested.calls()
        const sync = await tested.beginSync()
        const released = await sync.finish(rowsMax)
        expect(released).toHaveLength(1)
        expect(await tested.calls()).toEqual([{ identity: released[0], value: null }])
        expect(await tested.members()).toEqual([])
      },
    )

    test('are the same in every audience', async () => {
      for (const key of ['a', 'b']) await tested.sync([member('u_1')], { audience: { key } })
      expect(await tested.members('a')).toEqual(await tested.members('b'))
    })
  })
}
