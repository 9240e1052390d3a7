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
import { Syncs, type Sync } from '../audience-syncs.ts'
import { toStored } from '../stored-text.ts'
import { AudienceChanges } from './audience-changes.ts'
import { audienceColumns, audienceOf, AudienceRows, type AudienceRow } from './audience-rows.ts'
import type { Database, Session } from './database.ts'
import type { DeliveryQueue } from './delivery-queue.ts'

const superseded = Object.freeze({ kind: 'superseded' as const })

/** Nothing comes of it where the key is another's. */
const beginSql = `
  INSERT INTO evroute_audiences AS kept (key, name, class, computation_id, source_id, members, numbers,
    created_at, sync)
  VALUES ($1, $2, $3, $4, $5, 0, 0, $6, nextval('evroute_syncs'))
  ON CONFLICT (key) DO UPDATE SET name = excluded.name, sync = excluded.sync
    WHERE kept.class = excluded.class AND kept.source_id = excluded.source_id
  RETURNING ${audienceColumns}`

/**
 * Keeps audiences in the database of the deliveries that their calls become. The number of the sync
 * that goes on is in the database, so that it is over once any process begins another one; whom its
 * list has named is only known to the process that began it.
 */
export class PostgresAudiences implements AudienceStore {
  readonly #database: Database
  readonly #queue: DeliveryQueue
  readonly #rows: AudienceRows
  readonly #changes: AudienceChanges
  readonly #syncs = new Syncs()
  #lastBegin: Promise<unknown> = Promise.resolve()

  constructor(
    database: Database,
    { queue, reading }: { readonly queue: DeliveryQueue; readonly reading: Database },
  ) {
    this.#database = database
    this.#queue = queue
    this.#rows = new AudienceRows(reading)
    this.#changes = new AudienceChanges(queue)
  }

  /** One after the other: the one that was asked for last is the one that goes on. */
  begin(request: BeginSyncRequest): Promise<BeginSyncResult> {
    const begun = this.#lastBegin.then(() => this.#begin(request))
    this.#lastBegin = begun.catch(() => undefined)
    return begun
  }

  take(request: TakeRequest): Promise<TakeResult> {
    return this.#inSync<TakeResult>(request, async (sync) => {
      const part = await this.#change((session) => this.#changes.take(session, request, sync))
      if (part === undefined) return superseded
      for (const number of part.listed) sync.listed.add(number)
      if (part.changes.length > 0) this.#queue.announce()
      return { kind: 'taken', outcomes: part.outcomes }
    })
  }

  release(request: ReleaseRequest): Promise<ReleaseResult> {
    return this.#inSync<ReleaseResult>(request, async (sync) => {
      const part = await this.#change((session) => this.#changes.release(session, request, sync))
      if (part === undefined) return superseded
      const { left, next, calls } = part
      if (next === null) this.#syncs.end(sync)
      if (calls > 0) this.#queue.announce()
      return { kind: 'released', left, next }
    })
  }

  /** An audience of any size goes as a whole, which may take a while. */
  async remove({ key }: { readonly key: string }): Promise<boolean> {
    const isRemoved = await this.#database.transaction(async (session) => {
      const sql = 'DELETE FROM evroute_audiences WHERE key = $1 RETURNING id'
      const rows = await session.rows<{ readonly id: string }>({ sql, values: [toStored(key)] })
      const members = 'DELETE FROM evroute_members WHERE audience_id = $1'
      for (const { id } of rows) await session.rows({ sql: members, values: [id] })
      return rows.length > 0
    })
    if (isRemoved) this.#syncs.endOf(key)
    return isRemoved
  }

  list(): Promise<readonly Audience[]> {
    return this.#rows.list()
  }

  members(request: MembersRequest): Promise<readonly Member[]> {
    return this.#rows.members(request)
  }

  async #begin({ audience, nowMs }: BeginSyncRequest): Promise<BeginSyncResult> {
    const { key, name, computationClass, computationId, sourceId } = audience
    const names = [toStored(key), toStored(name), computationClass]
    const values = [...names, toStored(computationId), toStored(sourceId), nowMs]
    for (;;) {
      const query = { name: 'begin_sync', sql: beginSql, values }
      const [row] = await this.#database.rows<AudienceRow>(query)
      if (row !== undefined) {
        const sync = this.#syncs.begin({ key, id: row.id }, row.sync ?? 0)
        return { kind: 'begun', audience: audienceOf(row), sync: sync.number }
      }
      const other = await this.#rows.find(key)
      if (other !== undefined) return { kind: 'taken', audience: audienceOf(other) }
      // It was removed in between.
    }
  }

  async #inSync<Result>(
    request: SyncRequest,
    step: (sync: Sync) => Promise<Result>,
  ): Promise<Result | typeof superseded> {
    const sync = this.#syncs.find(request)
    if (sync !== undefined) return await sync.inTurn(() => step(sync))
    this.#database.expectOpen()
    return superseded
  }

  #change<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#database.change(work)
  }
}
