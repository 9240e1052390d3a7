import { randomInt } from 'node:crypto'
import type {
  Audience,
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  Member,
  MembersRequest,
  ReleaseRequest,
  ReleaseResult,
  SyncRequest,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'
import type { AddRequest } from '../../delivery/index.ts'
import { scriptOf, type Script, type SqlDatabase } from '../sql/index.ts'
import { AudienceChanges } from './audience-changes.ts'
import { audienceOf, AudienceRows } from './audience-rows.ts'
import { Syncs, type Sync } from './syncs.ts'

const superseded = Object.freeze({ kind: 'superseded' as const })

/** What audiences need of the engine that they are in. */
export interface AudienceEngine {
  /** Where they are. */
  readonly database: SqlDatabase
  /** Writes events with their deliveries, within a transaction. */
  readonly addEvents: (batch: AddRequest) => Script<void>
  /** Is called after a commit that added deliveries. */
  readonly notify: () => void
}

/**
 * Keeps audiences beside the deliveries that their calls become. The number of the sync that goes on is in
 * the database: a sync is over once any process begins another one of the same audience. The members that
 * a list has named are known only to the process that began the sync.
 */
export class StoredAudiences implements AudienceStore {
  readonly #database: SqlDatabase
  readonly #notify: () => void
  readonly #rows: AudienceRows
  readonly #changes: AudienceChanges
  readonly #syncs = new Syncs()
  #lastBegin: Promise<unknown> = Promise.resolve()

  /** @param reading - answers questions; `database` by default */
  constructor({ database, addEvents, notify }: AudienceEngine, reading: SqlDatabase = database) {
    this.#database = database
    this.#notify = notify
    this.#rows = new AudienceRows(reading)
    this.#changes = new AudienceChanges({ dialect: database.dialect, addEvents })
  }

  /** One after the other: the sync that was asked for last goes on. */
  begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    const begun = this.#lastBegin.then(() => this.#begin(request))
    this.#lastBegin = begun.catch(() => undefined)
    return begun
  }

  take(request: TakeRequest): Promise<TakeResult> {
    return this.#inSync<TakeResult>(request, async (sync) => {
      const part = await this.#database.change(() => this.#changes.take(request, sync))
      if (part === undefined) return superseded
      for (const number of part.listed) sync.listed.add(number)
      if (part.changes.length > 0) this.#notify()
      return { kind: 'taken', outcomes: part.outcomes }
    })
  }

  release(request: ReleaseRequest): Promise<ReleaseResult> {
    return this.#inSync<ReleaseResult>(request, async (sync) => {
      const part = await this.#database.change(() => this.#changes.release(request, sync))
      if (part === undefined) return superseded
      const { left, next, calls } = part
      if (next === null) this.#syncs.end(sync)
      if (calls > 0) this.#notify()
      return { kind: 'released', left, next }
    })
  }

  /** An audience of any size goes as a whole, which may take a while. */
  async remove({ key }: { readonly key: string }): Promise<boolean> {
    const isRemoved = await this.#database.change(() => this.#changes.remove(key), { isLong: true })
    if (isRemoved) this.#syncs.endOf(key)
    return isRemoved
  }

  list(): Promise<readonly Audience[]> {
    return this.#rows.list()
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return this.#rows.members(request)
  }

  async #begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    const number = newSyncNumber()
    const { kind, row } = await this.#database.change(() => this.#changes.begin(request, number))
    const audience = audienceOf(row)
    if (kind === 'taken') return { kind, audience }
    // Not before the commit: a sync that could not begin supersedes none.
    this.#syncs.begin({ key: audience.key, id: row.id }, number)
    return { kind, audience, sync: number }
  }

  async #inSync<Result>(
    request: SyncRequest,
    step: (sync: Sync) => Promise<Result>,
  ): Promise<Result | typeof superseded> {
    const sync = this.#syncs.find(request)
    if (sync !== undefined) return sync.inTurn(() => step(sync))
    // A store that is closed refuses it.
    return this.#database.read(() => scriptOf(() => superseded))
  }
}

/** By chance: processes that share a database must not agree on one. */
function newSyncNumber(): number {
  return randomInt(1, 2 ** 48 - 1)
}
