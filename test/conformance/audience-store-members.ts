import { describe, expect, test } from 'vitest'
import type { Member, MemberIdentity } from '../../src/audience/index.ts'
import {
  identity,
  inOrder,
  member,
  memberWith,
  type AudiencesUnderTest,
} from './audience-store-under-test.ts'

/** Tests of `members`. */
export function membersSuite(tested: AudiencesUnderTest): void {
  describe('members', () => {
    const list = [
      ...Array.from({ length: 7 }, (_, index) => member(`u_${index}`)),
      ...Array.from({ length: 3 }, (_, index) => memberWith({ anonymousId: `a_${index}` })),
      memberWith({ userId: 'u_1', anonymousId: 'a_1', email: 'a@example.com' }),
    ]

    test('are an empty list for an unknown audience', async () => {
      expect(await tested.store.audiences.members({ key: 'x', limit: 9, after: null })).toEqual([])
    })

    test.each([1, 2, 10, 11, 12])(
      'are returned in pages of %i, each member once',
      async (limit) => {
        await tested.sync(list)
        const pages = await tested.pages('vip', limit)
        expect(pages.map((page) => page.length)).toEqual(
          Array.from({ length: Math.ceil(11 / limit) }, (_, page) =>
            Math.min(limit, 11 - page * limit),
          ),
        )
        expect(inOrder(pages.flat())).toEqual(inOrder(list))
      },
    )

    test('of one user follow one another', async () => {
      await tested.sync(list)
      const users = (await tested.pages('vip', 4)).flat().map((one) => one.identity.userId)
      expect(users.lastIndexOf('u_1') - users.indexOf('u_1')).toBe(1)
    })

    test('keep their order in the next sync', async () => {
      await tested.sync(list)
      const first = (await tested.pages('vip', 3)).flat()
      await tested.sync(list.toReversed().map((one) => ({ ...one, value: '2' })))
      const second = (await tested.pages('vip', 4)).flat()
      expect(second.map((one) => one.identity)).toEqual(first.map((one) => one.identity))
    })

    test('can be read from an identity that has left, or that never was a member', async () => {
      await tested.sync(list)
      const all = (await tested.pages('vip', 100)).flat()
      const [third] = all.slice(2)
      const membersAfter = (after: MemberIdentity): Promise<readonly Member[]> =>
        tested.store.audiences.members({ key: 'vip', limit: 100, after })
      await tested.sync(all.filter((one) => one !== third))
      expect(await membersAfter(third!.identity)).toEqual(all.slice(3))
      const rest = await membersAfter(identity({ userId: 'u_3a' }))
      expect(rest).toEqual(all.slice(all.length - rest.length))
    })
  })
}
