import { expect } from 'vitest'
import type {
  Audience,
  AudienceStore,
  Member,
  MemberIdentity,
  MembershipChange,
  NewAudience,
  PlannedStep,
  ReleaseResult,
  StepPlan,
  SyncRequest,
  TakeOutcome,
  TakeResult,
} from '../../src/audience/index.ts'
import { makeStep } from '../../src/audience/begun-sync.ts'
import type { NewEvent } from '../../src/delivery/index.ts'
import type { Store } from '../../src/store/index.ts'
import { delivered, nowMs, StoreUnderTest } from './store-under-test.ts'

/** The audience that most tests sync. */
export const vip: NewAudience = {
  key: 'vip',
  name: 'VIP',
  computationClass: 'audience',
  computationId: 'c_vip',
  sourceId: 'website',
}

/** More parts or pages than this mean an endless loop. */
const partsMax = 1_000

/** Makes an identity. Identifiers that are not given are null. */
export function identity(identifiers: Partial<MemberIdentity>): MemberIdentity {
  return { userId: null, anonymousId: null, email: null, ...identifiers }
}

/** Makes a member with only a userId. */
export function member(userId: string, value = 'true'): Member {
  return memberWith({ userId }, value)
}

/** Makes a member with any identifiers. */
export function memberWith(identifiers: Partial<MemberIdentity>, value = 'true'): Member {
  return { identity: identity(identifiers), value }
}

/** Returns a key for the user of an identity: the userId, or the anonymousId if there is none. */
export function userOf({ userId, anonymousId }: MemberIdentity): string {
  return JSON.stringify(userId === null ? { anonymousId } : { userId })
}

/** Makes the change in which a member with only a userId leaves. */
export function leaver(userId: string): MembershipChange {
  return { identity: identity({ userId }), value: null }
}

/** Sorts members, or changes of members, by identity. */
export function inOrder<Subject extends { readonly identity: MemberIdentity }>(
  subjects: readonly Subject[],
): readonly Subject[] {
  const key = (subject: Subject): string => JSON.stringify(subject.identity)
  return subjects.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** A sync that has begun. */
export class SyncUnderTest {
  /** What happens once between the plan of a step and its writing. */
  betweenPlanAndWrite: (() => Promise<unknown>) | undefined
  readonly #store: AudienceStore
  readonly #request: SyncRequest
  readonly #eventOf: (change: MembershipChange) => NewEvent

  constructor(
    store: AudienceStore,
    request: SyncRequest,
    eventOf: (change: MembershipChange) => NewEvent,
  ) {
    this.#store = store
    this.#request = request
    this.#eventOf = eventOf
  }

  /** Sends part of a list. Throws if the sync is over. */
  async take(...members: readonly Member[]): Promise<readonly TakeOutcome[]> {
    const result = await this.tryTake(...members)
    if (result.kind !== 'taken') throw new Error('the sync is over')
    return result.outcomes
  }

  /** Sends part of a list, even if the sync may be over. */
  tryTake(...members: readonly Member[]): Promise<TakeResult> {
    return this.#make((request) => this.#store.take({ ...request, members }))
  }

  /** Removes up to `rowsMax` members that were not listed. */
  release(
    options: { rowsMax?: number; after?: MemberIdentity | null } = {},
  ): Promise<ReleaseResult> {
    const settings = { rowsMax: 100, after: null, ...options }
    return this.#make((request) => this.#store.release({ ...request, ...settings }))
  }

  /** Removes all members that were not listed, which completes the sync. Returns the removed ones. */
  async finish(rowsMax = 100): Promise<readonly MemberIdentity[]> {
    const released: MemberIdentity[] = []
    let after: MemberIdentity | null = null
    let parts = 0
    do {
      if (++parts > partsMax) throw new Error('the sync never ends')
      const part = await this.release({ rowsMax, after })
      if (part.kind !== 'released') throw new Error('the sync is over')
      released.push(...part.left)
      after = part.next
    } while (after !== null)
    return released
  }

  #make<Result extends TakeResult | ReleaseResult>(
    step: (request: SyncRequest) => Promise<Result | PlannedStep>,
  ): Promise<Result> {
    const write = (plan: StepPlan): Promise<Result | PlannedStep> => {
      const make = () => step({ ...this.#request, plan })
      const between = this.betweenPlanAndWrite
      if (plan.changes.length === 0 || between === undefined) return make()
      this.betweenPlanAndWrite = undefined
      return between().then(make)
    }
    return makeStep(write, (changes) => changes.map(this.#eventOf))
  }
}

/** Begins a sync. Throws if its key is taken. */
export async function beginSync(
  { audiences }: Pick<Store, 'audiences'>,
  audience: NewAudience,
  options: { readonly nowMs: number; readonly eventOf: (change: MembershipChange) => NewEvent },
): Promise<SyncUnderTest> {
  const { nowMs: atMs, eventOf } = options
  const begun = await audiences.begin({ audience, nowMs: atMs })
  if (begun.kind !== 'begun') throw new Error('the key is taken')
  const plan = { changes: [], events: [] }
  const request = { key: audience.key, sync: begun.sync, nowMs: atMs, seenSinceMs: 0, plan }
  return new SyncUnderTest(audiences, request, eventOf)
}

/** The settings of a sync. By default it is of {@link vip}, at {@link nowMs}, with calls for `crm`. */
export interface SyncSettings {
  readonly audience?: Partial<NewAudience>
  readonly atMs?: number
  readonly destinationIds?: readonly string[]
  readonly eventOf?: (change: MembershipChange) => NewEvent
}

/** The audiences of the current test, with operations that tests share. */
export class AudiencesUnderTest {
  readonly #tested: StoreUnderTest
  readonly #open: () => Promise<Store>
  #store: Store | undefined
  #events = 0

  constructor(open: () => Promise<Store>) {
    this.#open = open
    this.#tested = new StoreUnderTest(() => Promise.resolve(this.store))
  }

  /** The store. */
  get store(): Store {
    if (this.#store === undefined) throw new Error('begin() was not called')
    return this.#store
  }

  /** Opens an empty store. */
  async begin(): Promise<void> {
    this.#store = await this.#open()
    this.#events = 0
    await this.#tested.begin()
  }

  /** Checks the counts of members and audits the store, then closes it. */
  async end(): Promise<void> {
    for (const { key, members } of await this.store.audiences.list()) {
      expect(await this.members(key), key).toHaveLength(members)
    }
    await this.#tested.end()
  }

  /** Begins a sync. Throws if the key belongs to a different source or class. */
  async beginSync(settings: SyncSettings = {}): Promise<SyncUnderTest> {
    const { atMs = nowMs, destinationIds = ['crm'] } = settings
    const audience = { ...vip, ...settings.audience }
    const eventOf =
      settings.eventOf ??
      ((change: MembershipChange) => this.eventOf(change, audience, destinationIds))
    return beginSync(this.store, audience, { nowMs: atMs, eventOf })
  }

  /** Syncs a list completely. */
  async sync(list: readonly Member[], settings: SyncSettings = {}): Promise<void> {
    const sync = await this.beginSync(settings)
    await sync.take(...list)
    await sync.finish()
  }

  /** Makes the call for a change. Its body contains the change. */
  eventOf(
    change: MembershipChange,
    audience: NewAudience,
    destinationIds: readonly string[],
  ): NewEvent {
    this.#events++
    const { userId } = change.identity
    const body = JSON.stringify({ key: audience.key, ...change })
    return {
      sourceId: audience.sourceId,
      messageId: `call_${this.#events}`,
      type: 'identify',
      userId,
      deliveries: destinationIds.map((destinationId) => ({ destinationId, body })),
    }
  }

  /** Delivers the waiting calls, and returns the changes in those of one audience, in order. */
  async calls(key: string = vip.key): Promise<readonly MembershipChange[]> {
    const dueByMs = Number.MAX_SAFE_INTEGER
    const leased = await this.#tested.claim('crm', { deliveriesMax: 10_000, dueByMs })
    await this.#tested.settle(...leased.map(delivered))
    const bodies = leased.map(
      ({ body }) => JSON.parse(body) as MembershipChange & { readonly key: string },
    )
    return bodies
      .filter((body) => body.key === key)
      .map(({ identity: subject, value }) => ({ identity: subject, value }))
  }

  /** Returns the audience with a key, which must exist. */
  async audience(key: string = vip.key): Promise<Audience> {
    const found = (await this.store.audiences.list()).find((audience) => audience.key === key)
    expect(found, key).toBeDefined()
    return found!
  }

  /** Returns all members of an audience, read in pages and sorted by identity. */
  async members(key: string = vip.key, limit = 100): Promise<readonly Member[]> {
    return inOrder((await this.pages(key, limit)).flat())
  }

  /** Returns all members of an audience, in pages and in the order of the engine. */
  async pages(key: string, limit: number): Promise<readonly (readonly Member[])[]> {
    const pages: (readonly Member[])[] = []
    for (;;) {
      const after = pages.at(-1)?.at(-1)?.identity ?? null
      const page = await this.store.audiences.members({ key, limit, after })
      if (page.length === 0) return pages
      pages.push(page)
      if (pages.length > partsMax) throw new Error('the pages never end')
    }
  }

  /** Suppresses calls of users from now on. */
  suppress(id: string, ...userIds: readonly string[]): Promise<void> {
    const regulation = { id, type: 'SUPPRESS_ONLY' as const, userIds, sourceIds: null }
    return this.store.regulations.create({ regulation, notifications: [], nowMs })
  }

  /** Accepts calls of users again. */
  unsuppress(id: string, ...userIds: readonly string[]): Promise<void> {
    const regulation = { id, type: 'UNSUPPRESS' as const, userIds, sourceIds: null }
    return this.store.regulations.create({ regulation, notifications: [], nowMs })
  }
}
