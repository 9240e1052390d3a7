import { Readable } from 'node:stream'
import {
  syncAudience,
  type AudienceReader,
  type Member,
  type MembershipChange,
  type NewAudience,
  type RejectedRow,
  type SyncCounts,
  type SyncListener,
  type SyncOptions,
  type SyncOutcome,
} from '../../src/audience/index.ts'
import type { DeliveryStore } from '../../src/delivery/index.ts'
import { readTable } from '../../src/importer/index.ts'
import { createRuntime, ManualClock, type Runtime } from '../../src/runtime/index.ts'
import { crm, nowMs } from '../intake/support.ts'

export { crm, nowMs }

/** An audience of the source `website`. */
export const shoppers: NewAudience = {
  key: 'first_time_shopper',
  name: 'First Time Shopper',
  computationClass: 'audience',
  computationId: 'aud_0123456789ABCDEFGHIJKLMNOPQ',
  sourceId: 'website',
}

/** A computed trait of the source `website`. */
export const revenue: NewAudience = {
  key: 'total_revenue_180_days',
  name: 'Total Revenue 180 Days',
  computationClass: 'trait',
  computationId: 'trt_0123456789ABCDEFGHIJKLMNOPQ',
  sourceId: 'website',
}

/** A runtime whose clock stands still, with ids that are unique across the tests. */
export function frozenClockRuntime(): Runtime {
  let ids = 0
  return createRuntime({ clock: new ManualClock(nowMs), newId: () => `id-${++ids}` })
}

/** The calls that a listener got. */
export interface Heard {
  readonly listener: SyncListener
  readonly rejected: RejectedRow[]
  readonly changes: MembershipChange[]
  readonly progress: SyncCounts[]
  readonly compared: number[]
}

/** A listener that records its calls. */
export function listening(): Heard {
  const rejected: RejectedRow[] = []
  const changes: MembershipChange[] = []
  const progress: SyncCounts[] = []
  const compared: number[] = []
  const listener = {
    rejected: (row: RejectedRow) => void rejected.push(row),
    changed: (some: readonly MembershipChange[]) => void changes.push(...some),
    comparing: (members: number) => void compared.push(members),
    progress: (counts: SyncCounts) => void progress.push(counts),
  }
  return { listener, rejected, changes, progress, compared }
}

/** The rows of a list given as text. */
export function rowsOf(text: string): SyncOptions['rows'] {
  return readTable(Readable.from([Buffer.from(text)]), '')
}

/** Parameters of a sync, except those that tests set individually. */
export function syncOptions(
  options: Pick<SyncOptions, 'store' | 'rows'> & Partial<SyncOptions>,
): SyncOptions {
  return {
    audience: shoppers,
    destinations: [crm],
    columns: { userIds: [], value: undefined },
    listener: listening().listener,
    hasRoom: () => Promise.resolve(true),
    dedupeWindowMs: 60_000,
    runtime: frozenClockRuntime(),
    signal: new AbortController().signal,
    ...options,
  }
}

/** Syncs a list, and returns the outcome with the listener's calls. */
export async function sync(
  options: Omit<SyncOptions, 'rows'> & { readonly list: string },
): Promise<{ readonly outcome: SyncOutcome } & Heard> {
  const heard = listening()
  const rows = rowsOf(options.list)
  const outcome = await syncAudience({ ...options, rows, listener: heard.listener })
  return { outcome, ...heard }
}

/** The key of a member in `Endpoint.members` and in the map of `membersOf`. */
export function nameOf(identity: {
  readonly userId?: string | null
  readonly anonymousId?: string | null
  readonly email?: unknown
}): string {
  return JSON.stringify(
    [identity.userId, identity.anonymousId, identity.email].map((id) => id ?? null),
  )
}

/** The identify calls as an endpoint gets them. */
export interface SentCall {
  readonly userId?: string
  readonly anonymousId?: string
  readonly traits: Readonly<Record<string, unknown>>
  readonly context: { readonly personas: { readonly computation_key: string } }
}

/** Marks every waiting delivery as delivered, and returns their bodies. */
export async function deliver(store: DeliveryStore): Promise<readonly string[]> {
  const share = {
    destinationId: 'crm',
    lane: 'first',
    deliveriesMax: 100_000,
    dueByMs: nowMs,
  } as const
  const leased = await store.claim({ nowMs, shares: [share] })
  const settlements = leased.map(
    (delivery) => ({ kind: 'delivered', delivery, attempts: 1 }) as const,
  )
  await store.settle({ nowMs, settlements, requests: [] })
  return leased.map(({ body }) => body)
}

/** An endpoint that keeps the state of one audience from the calls it gets. */
export class Endpoint {
  readonly #key: string
  /** The value of each member that has not left since. */
  readonly members: Map<string, string> = new Map()
  /** How many calls it got. */
  calls = 0

  constructor(key: string) {
    this.#key = key
  }

  /** Takes every waiting delivery from the store. */
  async receive(store: DeliveryStore): Promise<void> {
    for (const body of await deliver(store)) {
      const { userId, anonymousId, traits } = JSON.parse(body) as SentCall
      this.calls++
      const name = nameOf({ userId, anonymousId, email: traits['email'] } as Parameters<
        typeof nameOf
      >[0])
      const value = traits[this.#key]
      if (value === false || value === null) this.members.delete(name)
      else this.members.set(name, JSON.stringify(value))
    }
  }
}

/** Every member of an audience, by name. */
export async function membersOf(
  store: AudienceReader,
  key: string,
): Promise<ReadonlyMap<string, string>> {
  const members = new Map<string, string>()
  let page: readonly Member[] = []
  do {
    page = await store.members({ key, limit: 700, after: page.at(-1)?.identity ?? null })
    for (const { identity, value } of page) members.set(nameOf(identity), value)
  } while (page.length > 0)
  return members
}
