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

/** The identities in the lists. */
const identities: readonly Partial<MemberIdentity>[] = [
  { userId: 'a' },
  { userId: 'b' },
  { userId: 'b', email: 'b@example.com' },
  { userId: 'c' },
  { anonymousId: 'a' },
  { userId: 'a', anonymousId: 'a' },
  { userId: '\ud800' },
]

const line: fc.Arbitrary<Member> = fc
  .tuple(fc.constantFrom(...identities), fc.constantFrom('true', 'true', '2'))
  .map(([identifiers, value]) => memberWith(identifiers, value))

/** A sync, and the step after which it is interrupted. */
interface PlannedSync {
  readonly key: string
  readonly parts: readonly (readonly Member[])[]
  readonly rowsMax: number
  /** The maximum of steps: each sends a part or releases members. */
  readonly stepsMax: number
}

const plannedSync: fc.Arbitrary<PlannedSync> = fc.record({
  key: fc.constantFrom('vip', 'vip', 'other'),
  parts: fc.array(fc.array(line, { maxLength: 6 }), { maxLength: 3 }),
  rowsMax: fc.integer({ min: 1, max: 4 }),
  stepsMax: fc.oneof(fc.constant(100), fc.nat(6)),
})

/** A simple model of the members of an audience. */
class Reference {
  #values = new Map<string, string>()

  /** Takes one member of a list. `listed` has the identities that the list had before, and gets this one. */
  take({ identity, value }: Member, listed: Set<string>): TakeOutcome {
    const key = JSON.stringify(identity)
    const before = this.#values.get(key)
    const isSecond = listed.has(key)
    listed.add(key)
    if (before === value) return isSecond ? 'repeated' : 'unchanged'
    if (isSecond) return 'contradicted'
    this.#values.set(key, value)
    return before === undefined ? 'entered' : 'changed'
  }

  /** Keeps only the stored members. All of them must be known, and all listed ones must be among them. */
  retain(stored: readonly Member[], listed: ReadonlySet<string>): void {
    const keys = stored.map(({ identity }) => JSON.stringify(identity))
    for (const [index, key] of keys.entries()) {
      expect(this.#values.get(key)).toBe(stored[index]?.value)
    }
    for (const key of listed) expect(keys).toContain(key)
    this.#values = new Map(keys.map((key) => [key, this.#values.get(key) ?? '']))
  }

  members(): readonly Member[] {
    return inOrder(
      [...this.#values].map(([key, value]) => ({
        identity: JSON.parse(key) as MemberIdentity,
        value,
      })),
    )
  }
}

/** The view of an audience that a receiver has from its calls alone. */
class Receiver {
  readonly users = new Set<string>()
  readonly values = new Map<string, string>()
  calls = 0

  receive({ identity, value }: MembershipChange): void {
    this.calls++
    const user = userOf(identity)
    if (value === null) expect(this.users.delete(user)).toBe(true)
    else this.users.add(user)
    if (value !== null) this.values.set(JSON.stringify(identity), value)
  }
}

/** Syncs random lists with random interruptions, and checks that exactly the differences are sent. */
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
        for (const change of await tested.calls(key)) receiver.receive(change)
        expect(receiver.calls - before).toBe(changes.calls)
        const stored = await tested.members(key, plan.rowsMax)
        references[key].retain(stored, changes.listed)
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
    { numRuns: 15 },
  )
}

/** Carries out a planned sync. A complete sync must leave exactly the members of its list. */
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
    const remaining = await tested.members(key, rowsMax)
    expect(remaining.map(({ identity }) => JSON.stringify(identity)).toSorted()).toEqual(
      [...listed].toSorted(),
    )
    break
  }
  return { listed, calls }
}
