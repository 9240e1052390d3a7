import { expect } from 'vitest'
import fc from 'fast-check'
import type {
  Member,
  MemberIdentity,
  MembershipChange,
  TakeOutcome,
} from '../../src/audience/index.ts'
import type { Store } from '../../src/store/index.ts'
import {
  AudiencesUnderTest,
  inOrder,
  memberWith,
  userOf,
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

/** Who is in an audience: nothing that an engine would do. */
class Reference {
  #values = new Map<string, string>()

  /** Takes a line of a list in that has already named some. */
  take({ identity, value }: Member, listed: Set<string>): TakeOutcome {
    const who = JSON.stringify(identity)
    const before = this.#values.get(who)
    const isSecond = listed.has(who)
    listed.add(who)
    if (before === value) return isSecond ? 'repeated' : 'unchanged'
    if (isSecond) return 'contradicted'
    this.#values.set(who, value)
    return before === undefined ? 'entered' : 'changed'
  }

  /** Those who are there now, none of whom is new, and all of the list among them. */
  stay(members: readonly Member[], listed: ReadonlySet<string>): void {
    const names = members.map(({ identity }) => JSON.stringify(identity))
    for (const [place, name] of names.entries()) {
      expect(this.#values.get(name)).toBe(members[place]?.value)
    }
    for (const name of listed) expect(names).toContain(name)
    this.#values = new Map(names.map((name) => [name, this.#values.get(name) ?? '']))
  }

  /** Who is there. */
  members(): readonly Member[] {
    return inOrder(
      [...this.#values].map(([who, value]) => ({
        identity: JSON.parse(who) as MemberIdentity,
        value,
      })),
    )
  }
}

/** What somebody knows of an audience who was sent its calls. */
class Receiver {
  readonly users = new Set<string>()
  readonly values = new Map<string, string>()
  calls = 0

  hear({ identity, value }: MembershipChange): void {
    this.calls++
    const user = userOf(identity)
    if (value === null) expect(this.users.delete(user)).toBe(true)
    else this.users.add(user)
    if (value !== null) this.values.set(JSON.stringify(identity), value)
  }
}

/** Syncs lists at random, and stops anywhere; what is sent has to be what became different, and no more. */
export async function checkSyncsAgainstReference(open: () => Promise<Store>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(plannedSync, { maxLength: 6 }), async (plans) => {
      const tested = new AudiencesUnderTest(open)
      await tested.begin()
      const references = { vip: new Reference(), other: new Reference() }
      const receivers = { vip: new Receiver(), other: new Receiver() }
      for (const plan of plans) {
        const key = plan.key as 'vip' | 'other'
        const sync = await tested.beginSync({ audience: { key } })
        const changes = await carryOut(plan, { sync, tested }, references[key])
        const receiver = receivers[key]
        const before = receiver.calls
        for (const change of await tested.calls(key)) receiver.hear(change)
        expect(receiver.calls - before).toBe(changes.calls)
        const stored = await tested.members(key, plan.rowsMax)
        references[key].stay(stored, changes.listed)
        const members = references[key].members()
        expect(inOrder(stored)).toEqual(members)
        expect(receiver.users).toEqual(new Set(members.map(({ identity }) => userOf(identity))))
        for (const { identity, value } of members) {
          expect(receiver.values.get(JSON.stringify(identity))).toBe(value)
        }
        expect(await tested.audience(key)).toMatchObject({ members: members.length })
      }
      await tested.end()
    }),
    { numRuns: 30 },
  )
}

/** Does what is planned; a sync that comes to its end has members that are those of its list. */
async function carryOut(
  { key, parts, rowsMax, stepsMax }: PlannedSync,
  { sync, tested }: { readonly sync: SyncUnderTest; readonly tested: AudiencesUnderTest },
  reference: Reference,
): Promise<{ readonly listed: ReadonlySet<string>; readonly calls: number }> {
  const listed = new Set<string>()
  let calls = 0
  for (const part of parts.slice(0, stepsMax)) {
    const expected = part.map((one) => reference.take(one, listed))
    expect(await sync.take(...part)).toEqual(expected)
    calls += expected.filter((outcome) => outcome === 'entered' || outcome === 'changed').length
  }
  let after: MemberIdentity | null = null
  for (let step = parts.length; step < stepsMax; step++) {
    const released = await sync.release({ rowsMax, after })
    if (released.kind !== 'released') throw new Error('the sync is over')
    for (const identity of released.left) expect(listed).not.toContain(JSON.stringify(identity))
    calls += released.left.length
    after = released.next
    if (after !== null) continue
    const left = await tested.members(key, rowsMax)
    expect(left.map(({ identity }) => JSON.stringify(identity)).toSorted()).toEqual(
      [...listed].toSorted(),
    )
    break
  }
  return { listed, calls }
}
