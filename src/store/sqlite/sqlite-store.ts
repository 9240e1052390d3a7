import type {
  AddRequest,
  AddResult,
  DestinationCounts,
  ClaimRequest,
  DueRequest,
  DueTime,
  LeaseEnd,
  LeasedDelivery,
  PurgeRequest,
  PurgeResult,
} from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'
import { StoredAudiences } from '../audiences/stored-audiences.ts'
import { StoredRegulations } from '../regulations/stored-regulations.ts'
import type { Store } from '../store.ts'
import { scriptOf, sql, type Script } from '../sql.ts'
import { beginEnds, type EndRequest } from '../log/first-tries.ts'
import { countOf, giveUp } from '../log/log-changes.ts'
import { addEvents } from './adding.ts'
import { Counts } from './counts.ts'
import { Checkpoints } from './checkpoints.ts'
import { claim, nextDue } from './claiming.ts'
import { openDatabase, openMemory, type Database, type MemoryOptions } from './database.ts'
import type { FileLock } from './file-lock.ts'
import { erasureEngine } from './erasure-engine.ts'
import { ErasureTraces } from './erasure-traces.ts'
import { openFile } from './store-file.ts'
import { FileGuard } from './file-guard.ts'
import { FileLog } from './file-log.ts'
import { Leases } from './leases.ts'
import { MemoryBounds, type MemoryBoundsOptions } from './memory-bounds.ts'
import { expectNotMoved } from './moves.ts'
import { purgeOld } from './purging.ts'
import { migrate, pragma, type UpgradeOptions } from './schema.ts'
import { settle } from './settling.ts'
import { Statements } from './statements.ts'
import type { StoreParts } from './store-parts.ts'
import { storeError } from './store-error.ts'

/** The value of `PRAGMA synchronous` with which a commit waits until it is on disk. */
const synchronousFull = 2

/** The row that probes writability: an id that no body has, and a size that does not fit on a nearly full disk. */
const [sampleId, sampleBytes] = [-1, 64 * 1024]

/** Where a store is: in a locked file, or in memory with limits. */
interface StoreLocation {
  readonly path: string
  readonly lock?: FileLock | undefined
  readonly bounds?: MemoryBoundsOptions
}

/**
 * Keeps deliveries in a file. Once `add` has resolved, they survive a crash of the process or machine.
 *
 * Only one process can deliver from a file. Leases exist only in its memory; in the file, a leased delivery is
 * pending. So all leases end when the process dies.
 */
export class SqliteStore extends FileLog implements Store {
  readonly audiences: StoredAudiences
  readonly regulations: StoredRegulations
  readonly #file: ReturnType<typeof fileOf> | undefined
  readonly #bounds: MemoryBounds | undefined
  readonly #parts: StoreParts

  private constructor(database: Database, { path, lock, bounds }: StoreLocation) {
    const statements = new Statements(database)
    const parts: StoreParts = {
      statements,
      counts: new Counts(statements),
      leases: new Leases(),
      keepsLog: bounds?.endedMax !== 0,
    }
    const file = lock && fileOf(database, path, lock)
    const { guard, checkpoints } = file ?? {}
    const memory = bounds && new MemoryBounds(parts, bounds)
    super({ path, database }, parts, [memory, parts.counts, guard, checkpoints])
    this.#file = file
    this.#parts = parts
    this.#bounds = memory
    this.audiences = new StoredAudiences({
      database: this.sql,
      addEvents: (batch) =>
        scriptOf(() => {
          addEvents(batch, parts)
        }),
      notify: () => undefined,
    })
    const traces = guard && new ErasureTraces(database, { path, guard })
    const { engine } = this
    const erasures = erasureEngine({ ...parts, database: this.sql, engine, traces })
    this.regulations = new StoredRegulations(erasures)
  }

  /** Opens or creates a file for delivery. Throws like {@link openFile}, {@link migrate} and {@link expectNotMoved}. */
  static async open(
    name: string,
    open: typeof openDatabase = openDatabase,
    upgrade: UpgradeOptions = {},
  ): Promise<SqliteStore> {
    return openFile(name, { access: 'create', lockTo: 'deliver from', open }, (file) => {
      const { path, database } = file
      database.exec('PRAGMA journal_mode = WAL')
      if (pragma(database, 'synchronous') !== synchronousFull)
        throw new Error('SQLite does not sync commits to disk')
      migrate(database, path, upgrade)
      // Write now, so that a read-only file fails here.
      database.exec("DELETE FROM counts WHERE name = ''")
      expectNotMoved(database, path)
      return new SqliteStore(database, file)
    })
  }

  /** Opens a store in memory or a temporary file; closing deletes it. Throws `store_unusable` if SQLite is too old. */
  static async openInMemory(
    bounds: MemoryBoundsOptions = {},
    options: MemoryOptions = {},
  ): Promise<SqliteStore> {
    const database = await openMemory(options)
    const path = options.growsIntoFile === true ? 'in the folder for temporary files' : 'memory:'
    migrate(database, path)
    return new SqliteStore(database, { path, bounds })
  }

  add(batch: AddRequest): Promise<AddResult> {
    if (this.#bounds === undefined) return this.#add(batch)
    return this.#bounds.enter(batch.events, () => this.#add(batch))
  }

  #add(batch: AddRequest): Promise<AddResult> {
    let leased: AddResult['leased'] = []
    const add = (): AddResult => {
      const added = addEvents(batch, this.#parts)
      leased = added.leased
      return added
    }
    return this.write(add, () => {
      for (const delivery of leased) this.#parts.leases.end(delivery)
      leased = []
    })
  }

  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    return this.read(() => {
      this.#file?.guard.beforeBegin()
      return claim(request.shares, this.#parts)
    })
  }

  async settle<End extends LeaseEnd>(request: EndRequest<End>): Promise<readonly End[]> {
    const batch = beginEnds(request, (delivery) => this.#parts.leases.beginEnd(delivery))
    const { settlements } = batch
    try {
      const ineffective = await this.write(() => settle(batch, this.#parts))
      // End leases only after the commit: until then, the deliveries are due in the file.
      for (const { delivery } of settlements) this.#parts.leases.end(delivery)
      return settlements.filter((settlement) => !ineffective.has(settlement))
    } catch (error) {
      for (const { delivery } of settlements) this.#parts.leases.cancelEnd(delivery)
      throw error
    }
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.sql.change(() => this.#purge(request))
  }

  *#purge(request: PurgeRequest): Script<PurgeResult> {
    const gone = purgeOld(request, this.#parts)
    const expired = yield* giveUp(this.engine, request)
    return { rows: gone + countOf(expired), expired }
  }

  async checkWritable(): Promise<void> {
    const { statements } = this.#parts
    const sample = sql`INSERT OR REPLACE INTO messages VALUES (${sampleId}, 0, ${' '.repeat(sampleBytes)})`
    await this.write(() => statements.run(sample))
    await this.write(() => statements.run(sql`DELETE FROM messages WHERE id = ${sampleId}`))
  }

  nextDue(request: DueRequest): Promise<readonly DueTime[]> {
    return this.read(() => nextDue(request.destinationIds, this.#parts))
  }

  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return this.read(() => this.#parts.counts.ledger(request?.destinationId))
  }

  destinationCounts(): Promise<readonly DestinationCounts[]> {
    return this.read(() => this.#parts.counts.ofDestinations())
  }

  protected override async end(): Promise<void> {
    this.#bounds?.close()
    await this.writes.idle()
    this.#file?.checkpoints.finish()
    await super.end()
    this.#file?.lock.release()
  }

  protected async write<Result>(work: () => Result, undo?: () => void): Promise<Result> {
    await Promise.resolve()
    this.#expectUsable()
    try {
      return await this.writes.run(work, undo)
    } catch (error) {
      throw storeError(this.path, error)
    }
  }

  protected async read<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    await Promise.resolve()
    this.#expectUsable()
    try {
      return await work()
    } catch (error) {
      throw this.errorOf(error)
    }
  }

  /** Throws after `close`, or once the file was replaced. */
  #expectUsable(): void {
    this.expectOpen()
    this.#file?.guard.expectUnharmed()
  }
}

function fileOf(database: Database, path: string, lock: FileLock) {
  return { lock, checkpoints: new Checkpoints(database), guard: new FileGuard(path, lock) }
}
