import { randomInt } from 'node:crypto'
import type {
  AudienceStore,
  BeginSyncRequest,
  BeginSyncResult,
  PlannedStep,
  ReleaseRequest,
  ReleaseResult,
  SyncRequest,
  TakeRequest,
  TakeResult,
} from '../../audience/index.ts'
import type { AddRequest } from '../../delivery/index.ts'
import { scriptOf, type Script, type SqlDatabase } from '../sql.ts'
import { AudienceChanges } from './audience-changes.ts'
import { AudienceRows } from './audience-rows.ts'
import { superseded, Sync, type Superseded } from './syncs.ts'

/** The engine-specific parts of audiences. */
export interface AudienceEngine {
  readonly database: SqlDatabase
  /** Adds events with their deliveries, in the current transaction. */
  readonly addEvents: (batch: AddRequest) => Script<void>
  /** Called after a commit that added deliveries. */
  readonly notify: () => void
}

/**
 * Keeps audiences in the same database as deliveries.
 *
 * The database has the number of each audience's current sync. A sync is over once any process begins a newer sync of
 * the same audience. Only the process that began a sync knows which members the list has named.
 */
export class StoredAudiences extends AudienceRows implements AudienceStore {
  readonly #database: SqlDatabase
  readonly #notify: () => void
  readonly #changes: AudienceChanges
  readonly #syncs = new Map<string, Sync>()
  #lastBegin: Promise<unknown> = Promise.resolve()

  /** @param reading - the database for reads; `database` by default */
  constructor({ database, addEvents, notify }: AudienceEngine, reading: SqlDatabase = database) {
    super(reading)
    this.#database = database
    this.#notify = notify
    this.#changes = new AudienceChanges(database.dialect, addEvents)
  }

  /** Begins syncs one after the other, so that the last request wins. */
  begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    const begun = this.#lastBegin.then(() => this.#begin(request))
    this.#lastBegin = begun.catch(() => undefined)
    return begun
  }

  take(request: TakeRequest): Promise<TakeResult | PlannedStep> {
    return this.#inSync<TakeResult | PlannedStep>(request, async (sync) => {
      const part = await this.#database.change(() => this.#changes.take(request, sync))
      if (part.kind !== 'taken') return part
      for (const number of part.listed) sync.listed.add(number)
      if (part.changes.length > 0) this.#notify()
      return { kind: 'taken', outcomes: part.outcomes }
    })
  }

  release(request: ReleaseRequest): Promise<ReleaseResult | PlannedStep> {
    return this.#inSync(request, async (sync) => {
      const part = await this.#database.change(() => this.#changes.release(request, sync))
      if (part.kind !== 'released') return part
      if (part.next === null) this.#forget(sync)
      if (request.plan.events.length > 0) this.#notify()
      return part
    })
  }

  async remove({ key }: { readonly key: string }): Promise<boolean> {
    for (;;) {
      const part = await this.#database.change(() => this.#changes.remove(key))
      if (part === 'none') return false
      this.#syncs.delete(key)
      if (part === 'removed') return true
    }
  }

  async #begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    // Random, so that processes that share a database do not choose the same number.
    const number = randomInt(1, 2 ** 48 - 1)
    const { kind, row } = await this.#database.change(() => this.#changes.begin(request, number))
    const { id, ...audience } = row
    if (kind === 'taken') return { kind, audience }
    // Only after the commit: a sync that could not begin must not supersede the current one.
    this.#syncs.set(audience.key, new Sync({ key: audience.key, id }, number))
    return { kind, audience, sync: number }
  }

  async #inSync<Result extends { readonly kind: string }>(
    request: SyncRequest,
    step: (sync: Sync) => Promise<Result>,
  ): Promise<Result | Superseded> {
    const sync = this.#syncs.get(request.key)
    // Use a read without a query, because it rejects if the store is closed.
    if (sync?.number !== request.sync) return this.#database.read(() => scriptOf(() => superseded))
    const result = await sync.inTurn(() => step(sync))
    if (result.kind === 'superseded') this.#forget(sync)
    return result
  }

  #forget(sync: Sync): void {
    if (this.#syncs.get(sync.key) === sync) this.#syncs.delete(sync.key)
  }
}
