import { expect } from 'vitest'
import fc from 'fast-check'
import type { Member, MemberIdentity, TakeOutcome } from '../../src/audience/index.ts'
import type { Store } from '../../src/store/index.ts'
import {
  AudiencesUnderTest,
  inOrder,
  memberWith,
  type SyncUnderTest,
} from './audience-store-under-test.ts'

/** Those whom lists speak of. */
const people: readonly Partial<MemberIdentity>[] = [
  { userId: 'a' },
  { userId: 'b' },
  { userId: 'b', email: 'b@example.com' },
  { userId: 'c' },
  { anonymousId: 'a' },
  { userId: 'a', anonymousId: 'a' },
  { userId: '\ud800' },
]

const line: fc.Arbitrary<Member> = fc
  .tuple(fc.constantFrom(...people), fc.constantFrom('true', 'true', '2'))
  .map(([identifiers, value]) => memberWith(identifiers, value))

/** A sync, and where it stops. */
interface PlannedSync {
  readonly key: string
  readonly parts: readonly (readonly Member[])[]
  readonly rowsMax: number
  /** After so many steps, each of which takes a part or lets some leave. */
  readonly stepsMax: number
}

const plannedSync: fc.Arbitrary<PlannedSync> = fc.record({
  key: fc.constantFrom('vip', 'vip', 'other'),
  parts: fc.array(fc.array(line, { maxLength: 6 }), { maxLength: 3 }),
  rowsMax: fc.integer({ min: 1, max: 4 }),
  stepsMax: fc.oneof(fc.constant(100), fc.nat(6)),
})

/** Who is in an audience, and what is sent about it: nothing that an engine would do. */
class Reference {
  readonly #values = new Map<string, string>()
  /** How often something became different. */
  differences = 0

  /** Takes a line of a list in that has already named some. */
  take({ identity, value }: Member, listed: Set<string>): TakeOutcome {
    const who = JSON.stringify(identity)
    const before = this.#values.get(who)
    const isSecond = listed.has(who)
    listed.add(who)
    if (before === value) return isSecond ? 'repeated' : 'unchanged'
    if (isSecond) return 'contradicted'
    this.#values.set(who, value)
    this.differences++
    return before === undefined ? 'entered' : 'changed'
  }

  /** Lets somebody leave who is there. */
  leave(identity: MemberIdentity): void {
    expect(this.#values.delete(JSON.stringify(identity))).toBe(true)
    this.differences++
  }

  /** Who is there, as whoever was sent the changes would know it. */
  members(): readonly Member[] {
    return inOrder(
      [...this.#values].map(([who, value]) => ({
        identity: JSON.parse(who) as MemberIdentity,
        value,
      })),
    )
  }
}

/** Syncs lists at random, and stops anywhere; what is sent has to be what became different, and no more. */
export async function checkSyncsAgainstReference(open: () => Promise<Store>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(plannedSync, { maxLength: 6 }), async (plans) => {
      const tested = new AudiencesUnderTest(open)
      await tested.begin()
      const references = { vip: new Reference(), other: new Reference() }
      const received = { vip: new Reference(), other: new Reference() }
      for (const plan of plans) {
        const key = plan.key as 'vip' | 'other'
        const sync = await tested.beginSync({ audience: { key } })
        await carryOut(plan, sync, references[key])
        for (const { identity, value } of await tested.calls(key)) {
          if (value === null) received[key].leave(identity)
          else received[key].take({ identity, value }, new Set())
        }
        expect(received[key]).toEqual(references[key])
        const members = references[key].members()
        expect(received[key].members()).toEqual(members)
        expect(received[key].differences).toBe(references[key].differences)
        expect(await tested.members(key, plan.rowsMax)).toEqual(members)
        expect(await tested.audience(key)).toMatchObject({ members: members.length })
      }
      await tested.end()
    }),
    { numRuns: 30 },
  )
}

/** Does what is planned, and checks who leaves: a sync that comes to its end has listed all who are left. */
async function carryOut(
  { parts, rowsMax, stepsMax }: PlannedSync,
  sync: SyncUnderTest,
  reference: Reference,
): Promise<void> {
  const listed = new Set<string>()
  for (const part of parts.slice(0, stepsMax)) {
    const expected = part.map((one) => reference.take(one, listed))
    expect(await sync.take(...part)).toEqual(expected)
  }
  let after: MemberIdentity | null = null
  for (let step = parts.length; step < stepsMax; step++) {
    const released = await sync.release({ rowsMax, after })
    if (released.kind !== 'released') throw new Error('the sync is over')
    for (const identity of released.left) {
      expect(listed).not.toContain(JSON.stringify(identity))
      reference.leave(identity)
    }
    after = released.next
    if (after !== null) continue
    const left = reference.members().map(({ identity }) => JSON.stringify(identity))
    expect(left).toEqual([...listed].toSorted())
    return
  }
}
