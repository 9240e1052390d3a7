import type {
  DeliveryKey,
  DeliveryLog,
  DeliveryStory,
  DiscardRequest,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import { storyOf } from '../log/logged-delivery.ts'
import type { Counts } from './counts.ts'
import type { Database } from './database.ts'
import type { Leases } from './leases.ts'
import { LogReader, requestsOfDelivery } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { SqliteSql } from './sql-database.ts'

/** The delivery log of a connection. Subclasses decide how work runs. */
export abstract class FileLog implements DeliveryLog {
  protected readonly sql: SqliteSql
  protected readonly writer: LogWriter
  readonly #reader: LogReader

  constructor(database: Database, parts: { readonly counts: Counts; readonly leases?: Leases }) {
    this.#reader = new LogReader(database, parts.counts)
    this.writer = new LogWriter(database, parts)
    this.sql = new SqliteSql(database, {
      write: (task) => this.write(task),
      read: (task) => this.read(task),
    })
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.read(() => this.#reader.list(request))
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.sql.read(() => storyOf(key, requestsOfDelivery))
  }

  retry(request: RetryRequest): Promise<number> {
    return this.write(() => this.writer.retry(request))
  }

  discard(request: DiscardRequest): Promise<number> {
    return this.write(() => this.writer.discard(request))
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.write(() => this.writer.purge(request))
  }

  audit(): Promise<StoreAudit> {
    return this.read(() => this.#reader.audit())
  }

  abstract close(): Promise<void>

  /** Runs work outside a transaction. */
  protected abstract read<Result>(work: () => Result | Promise<Result>): Promise<Result>

  /** Runs work in a transaction that may include other work. The work may run a second time. */
  protected abstract write<Result>(work: () => Result): Promise<Result>
}
