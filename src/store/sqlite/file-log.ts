import type {
  ChangeRequest,
  ChangeResult,
  DeliveryKey,
  DeliveryLog,
  DeliveryStory,
  ListRequest,
  LoggedDelivery,
  LostRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import type { EvrouteError } from '../../model/index.ts'
import { countLost, discard, retry, type LogEngine } from '../log/log-changes.ts'
import { storyOf } from '../log/logged-delivery.ts'
import { raw, sql, type SqlDatabase } from '../sql.ts'
import { closedError } from '../store-errors.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'
import { audit, listDeliveries } from './log-reader.ts'
import { storeError } from './store-error.ts'
import type { OpenedFile } from './store-file.ts'
import type { LogParts } from './store-parts.ts'
import { WriteQueue, type TransactionHooks } from './write-queue.ts'

/** The delivery log in a file. Subclasses implement `read` and `write`. */
export abstract class FileLog implements DeliveryLog {
  protected readonly path: string
  protected readonly database: Database
  protected readonly writes: WriteQueue
  protected readonly sql: SqlDatabase
  protected readonly engine: LogEngine
  readonly #parts: LogParts
  #closed: Promise<void> | undefined

  /** @param hooks - called around each transaction, in this order */
  constructor(
    { path, database }: Pick<OpenedFile, 'path' | 'database'>,
    parts: LogParts,
    hooks: readonly (TransactionHooks | undefined)[] = [parts.counts],
  ) {
    this.path = path
    this.database = database
    this.writes = new WriteQueue(database, hooks)
    this.#parts = parts
    const { statements, counts, leases } = parts
    this.sql = {
      dialect,
      read: (script) => this.read(() => statements.runScript(script())),
      change: (script) => this.write(() => statements.runScript(script())),
    }
    this.engine = {
      dialect,
      countChanges: counts.countChanges,
      isUnleased: () => (leases === undefined ? raw('true') : sql`NOT ${leases.isLeased()}`),
      releasedColumns: raw(''),
    }
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.read(() => listDeliveries(request, this.#parts.statements))
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.sql.read(() => storyOf(key, sql`delivery_id = ${key.id}`))
  }

  retry(request: ChangeRequest): Promise<ChangeResult> {
    return this.sql.change(() => retry(this.engine, request))
  }

  discard(request: ChangeRequest): Promise<ChangeResult> {
    return this.sql.change(() => discard(this.engine, request))
  }

  countLost(request: LostRequest): Promise<number> {
    return this.sql.read(() => countLost(request))
  }

  audit(): Promise<StoreAudit> {
    return this.read(() => audit(this.#parts))
  }

  close(): Promise<void> {
    this.#closed ??= this.end()
    return this.#closed
  }

  /** Waits for writes in progress, and closes the file. */
  protected async end(): Promise<void> {
    await this.writes.idle()
    this.database.close()
  }

  /** Call it right before doing or queueing work: `close` waits only for work that was queued before. */
  protected expectOpen(): void {
    if (this.#closed !== undefined) throw closedError()
  }

  /** Returns the error for work that failed. After `close`, it only says that closing interrupted the work. */
  protected errorOf(error: unknown): EvrouteError {
    return this.#closed === undefined ? storeError(this.path, error) : closedError()
  }

  /** Runs work outside a transaction. */
  protected abstract read<Result>(work: () => Result | Promise<Result>): Promise<Result>

  /** Runs work in a transaction that may include other work. The work may run a second time. */
  protected abstract write<Result>(work: () => Result): Promise<Result>
}
