import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  syncAudience,
  type AudienceStore,
  type NewAudience,
  type SyncOptions,
} from '../../src/audience/index.ts'
import { imbalances } from '../../src/model/index.ts'
import { createRuntime, ManualClock } from '../../src/runtime/index.ts'
import { openStore, type Store } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  Endpoint,
  membersOf,
  nameOf,
  nowMs,
  revenue,
  rowsOf,
  shoppers,
  syncOptions,
} from './support.ts'

/** Every member of a list with its value, by the name that the endpoint uses. */
type List = ReadonlyMap<string, { readonly row: object; readonly value: string }>

/** Lists that overlap, with thousands of members or none, and all kinds of identifiers. */
const list: fc.Arbitrary<List> = fc
  .array(
    fc.record({
      from: fc.nat(1_500),
      count: fc.oneof(fc.nat(5), fc.nat(1_100)),
      value: fc.constantFrom(1, 'x', true),
    }),
    { maxLength: 3 },
  )
  .map((ranges) => {
    const members = new Map<string, { readonly row: object; readonly value: string }>()
    for (const { from, count, value } of ranges) {
      for (let number = from; number < from + count; number++) {
        const identity = identityOf(number)
        const row = { ...identity, value }
        members.set(nameOf(identity), { row, value: JSON.stringify(value) })
      }
    }
    return members
  })

/** Makes an identity: an anonymousId, a userId, or a userId with an email, in turn. */
function identityOf(number: number): { userId?: string; anonymousId?: string; email?: string } {
  if (number % 3 === 0) return { anonymousId: `a${number}` }
  const userId = `u${number}`
  return number % 3 === 1 ? { userId } : { userId, email: `${number}@example.com` }
}

/**
 * What interrupts a sync: an aborted signal, a list that cannot be read further, or a store that fails
 * before or after a call. It happens after a number of operations.
 */
interface Interruption {
  readonly kind: 'signal' | 'list' | 'store before' | 'store after'
  readonly after: number
}

const interruption: fc.Arbitrary<Interruption> = fc.record({
  kind: fc.constantFrom('signal', 'list', 'store before', 'store after'),
  after: fc.nat(7),
})

const steps = fc.array(
  fc.record({ list, interruption: fc.option(interruption, { nil: undefined }) }),
  { minLength: 1, maxLength: 4 },
)

class Interrupted extends Error {}

/** A store that fails at one of its calls. */
function failing(store: AudienceStore, { kind, after }: Interruption): AudienceStore {
  let calls = 0
  const guarded =
    <Request, Result>(call: (request: Request) => Promise<Result>) =>
    async (request: Request): Promise<Result> => {
      const isItsTurn = calls++ === after
      if (isItsTurn && kind === 'store before') throw new Interrupted()
      const result = await call(request)
      if (isItsTurn && kind === 'store after') throw new Interrupted()
      return result
    }
  return {
    begin: guarded((request) => store.begin(request)),
    take: guarded((request) => store.take(request)),
    release: guarded((request) => store.release(request)),
    remove: guarded((request) => store.remove(request)),
    list: () => guarded(() => store.list())(undefined),
    members: guarded((request) => store.members(request)),
  }
}

/** The rows of a list in groups, possibly cut short. */
async function* groupsOf(
  members: List,
  interruption?: Interruption,
): SyncOptions['rows'] & AsyncGenerator {
  const lines = [...members.values()].map(({ row }) => JSON.stringify(row))
  let groups = 0
  for await (const group of rowsOf(lines.length === 0 ? '[]' : lines.join('\n'))) {
    for (let at = 0; at < group.length; at += 300) {
      if (interruption?.kind === 'list' && groups++ === interruption.after) throw new Interrupted()
      yield group.slice(at, at + 300)
    }
  }
}

/** The options of an interrupted sync. */
function interrupted(options: SyncOptions, how: Interruption | undefined): SyncOptions {
  if (how === undefined) return options
  const abort = new AbortController()
  let parts = 0
  return {
    ...options,
    store: failing(options.store, how),
    signal: abort.signal,
    hasRoom: () => {
      if (how.kind === 'signal' && parts++ === how.after) abort.abort()
      return Promise.resolve(true)
    },
  }
}

function valuesOf(members: List, { computationClass }: NewAudience): ReadonlyMap<string, string> {
  const isAudience = computationClass === 'audience'
  return new Map([...members].map(([name, { value }]) => [name, isAudience ? 'true' : value]))
}

function differences(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): number {
  const names = new Set([...one.keys(), ...other.keys()])
  return [...names].filter((name) => one.get(name) !== other.get(name)).length
}

/** Syncs one list after the other, repeats each interrupted sync, and checks the calls that were sent. */
async function check(
  store: Store,
  audience: NewAudience,
  sequence: readonly { readonly list: List; readonly interruption?: Interruption | undefined }[],
): Promise<void> {
  const endpoint = new Endpoint(audience.key)
  const rows = groupsOf(new Map())
  // The store remembers messageIds from one sequence to the next.
  const runtime = createRuntime({ clock: new ManualClock(nowMs) })
  const options = syncOptions({ store: store.audiences, rows, audience, runtime })
  let before: ReadonlyMap<string, string> = new Map()
  for (const { list: members, interruption } of sequence) {
    const wanted = valuesOf(members, audience)
    endpoint.calls = 0
    if (interruption !== undefined) {
      const rows = groupsOf(members, interruption)
      await syncAudience(interrupted({ ...options, rows }, interruption)).catch(onlyInterrupted)
      await endpoint.receive(store)
      expect(endpoint.members).toEqual(await membersOf(store.audiences, audience.key))
      expect(endpoint.calls).toBe(differences(before, endpoint.members))
    }
    const outcome = await syncAudience({ ...options, rows: groupsOf(members) })
    await endpoint.receive(store)
    expect(outcome).toMatchObject({ kind: 'synced', audience: { members: wanted.size } })
    expect(endpoint.members).toEqual(wanted)
    expect(await membersOf(store.audiences, audience.key)).toEqual(wanted)
    expect(endpoint.calls).toBe(differences(before, wanted))
    before = wanted
  }
  const ledger = await store.ledger()
  expect(imbalances({ ...ledger, read: ledger.accepted, rejected: 0 })).toEqual([])
}

function onlyInterrupted(error: unknown): void {
  if (!(error instanceof Interrupted)) throw error
}

async function engine(name: string): Promise<Store> {
  const url = name === 'memory' ? 'memory:' : `sqlite:${join(await temporaryFolder(), 'store.db')}`
  const store = await openStore(url)
  onTestFinished(() => store.close())
  return store
}

describe.each([
  ['memory', 5],
  ['sqlite', 3],
])('any sequence of lists, with %s', (name, numRuns) => {
  it.each([shoppers, revenue])('sends changes that add up to the last list of $key', async (of) => {
    const store = await engine(name)
    let runs = 0
    await fc.assert(
      fc.asyncProperty(steps, (sequence) =>
        check(store, { ...of, key: `key_${runs++}` }, sequence),
      ),
      { numRuns },
    )
  })
})
