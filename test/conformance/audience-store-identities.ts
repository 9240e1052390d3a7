import { describe, expect, test } from 'vitest'
import type { Member } from '../../src/audience/index.ts'
import {
  inOrder,
  member,
  memberWith,
  type AudiencesUnderTest,
} from './audience-store-under-test.ts'

/** Each of these is somebody else, however alike they look. */
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

/** Who is who. */
export function identitiesSuite(tested: AudiencesUnderTest): void {
  describe('identities', () => {
    test('are told apart by every identifier, whatever stands in it', async () => {
      const sync = await tested.beginSync()
      expect(await sync.take(...lookalikes)).toEqual(lookalikes.map(() => 'entered'))
      expect(await sync.take(...lookalikes)).toEqual(lookalikes.map(() => 'repeated'))
      expect(await sync.finish(3)).toEqual([])
      expect(await tested.calls()).toEqual(lookalikes)
      expect(await tested.members('vip', 2)).toEqual(inOrder(lookalikes))
      expect(await tested.audience()).toMatchObject({ members: lookalikes.length })
    })

    test('leave as what they entered', async () => {
      await tested.sync(lookalikes)
      await tested.calls()
      const stays = memberWith({ anonymousId: 'x' })
      const sync = await tested.beginSync()
      expect(await sync.take(stays)).toEqual(['unchanged'])
      expect(await sync.finish(4)).toHaveLength(lookalikes.length - 1)
      const expected = lookalikes
        .filter((one) => JSON.stringify(one) !== JSON.stringify(stays))
        .map(({ identity }) => ({ identity, value: null }))
      expect(inOrder(await tested.calls())).toEqual(inOrder(expected))
      expect(await tested.members()).toEqual([stays])
    })

    test('of one profile each have their own call', async () => {
      const profile = ['u_1', 'u_2'].map((userId) => memberWith({ userId, email: 'a@example.com' }))
      await tested.sync(profile)
      expect(await tested.calls()).toEqual(profile)
      await tested.sync([profile[0]!])
      expect(await tested.calls()).toEqual([{ ...profile[1], value: null }])
    })

    test('that get another address are others', async () => {
      await tested.sync([memberWith({ userId: 'u_1', email: 'old@example.com' })])
      await tested.calls()
      const sync = await tested.beginSync()
      const moved = memberWith({ userId: 'u_1', email: 'new@example.com' })
      expect(await sync.take(moved)).toEqual(['entered'])
      expect(await sync.finish()).toHaveLength(1)
      expect(await tested.members()).toEqual([moved])
      expect(await tested.calls()).toHaveLength(2)
    })

    test('are the same in every audience', async () => {
      for (const key of ['a', 'b']) await tested.sync([member('u_1')], { audience: { key } })
      expect(await tested.members('a')).toEqual(await tested.members('b'))
    })
  })
}
