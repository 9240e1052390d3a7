import type {
  ChangeRequest,
  ChangeResult,
  DeliveryKey,
  DeliveryLog,
  DeliveryStory,
  ListRequest,
  LoggedDelivery,
  StoreAudit,
} from '../../delivery/index.ts'
import { discard, retry, type LogEngine } from '../log/log-changes.ts'
import { storyOf } from '../log/logged-delivery.ts'
import { raw, sql, type SqlDatabase } from '../sql.ts'
import { dialect } from './dialect.ts'
import { audit, listDeliveries } from './log-reader.ts'
import type { LogParts } from './store-parts.ts'

/** The delivery log in a file. Subclasses implement `read` and `write`. */
export abstract class FileLog implements DeliveryLog {
  protected readonly sql: SqlDatabase
  protected readonly engine: LogEngine
  readonly #parts: LogParts

  constructor(parts: LogParts) {
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

  audit(): Promise<StoreAudit> {
    return this.read(() => audit(this.#parts))
  }

  abstract close(): Promise<void>

  /** Runs work outside a transaction. */
  protected abstract read<Result>(work: () => Result | Promise<Result>): Promise<Result>

  /** Runs work in a transaction that may include other work. The work may run a second time. */
  protected abstract write<Result>(work: () => Result): Promise<Result>
}
