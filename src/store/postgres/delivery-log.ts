import type {
  DeliveryKey,
  DeliveryStory,
  DiscardRequest,
  DueTime,
  EndedCounts,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import { abandon, countOf, discard, expire, retry, type LogEngine } from '../log/log-changes.ts'
import { listedDelivery, storyOf, type ListedRow } from '../log/logged-delivery.ts'
import { firstRow, raw, sql, type Query, type Script } from '../sql.ts'
import { toStored } from '../stored-text.ts'
import type { TableRows } from '../store.ts'
import { countChanges, ledgerOf } from './counts.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'
import {
  auditSql,
  forgetSeenSql,
  listQuery,
  purgeEndedSql,
  tableRowsSql,
} from './log-statements.ts'
import type { RequestPartitions } from './request-partitions.ts'

type AuditRow = Readonly<Record<string, number>>

/** PostgreSQL's parts of retries, discards and the ends of overdue deliveries. */
export const logEngine: LogEngine = {
  dialect,
  countChanges,
  isUnleased: (nowMs) => sql`(leased_until IS NULL OR leased_until <= ${nowMs})`,
  releasedColumns: raw(', lease_holder = NULL, lease = NULL, leased_until = NULL'),
}

interface LogParts {
  readonly reading: Database
  /** The same database, for writes. */
  readonly working: Database
  readonly partitions: RequestPartitions
  /** Runs a write, or rejects if the store must not be written to now. */
  readonly inAgreement: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Called with the lanes that a retry made due; without an argument if that may be any lane. */
  readonly announce: (dueTimes?: readonly DueTime[]) => void
}

/** The delivery log of a database, which services and commands share. */
export class DeliveryLogTables {
  readonly #parts: LogParts
  #auditing: Promise<unknown> = Promise.resolve()
  #nextAudit: Promise<StoreAudit> | undefined

  protected constructor(parts: LogParts) {
    this.#parts = parts
  }

  async list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    const rows = await this.#parts.reading.rows<ListedRow>(listQuery(request))
    return rows.map(listedDelivery)
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    const ofDelivery = sql`destination_id = ${toStored(key.destinationId)} AND delivery_id = ${key.id}`
    return this.#parts.reading.read(() => storyOf(key, ofDelivery))
  }

  async retry(request: RetryRequest): Promise<number> {
    const count = await this.#change(() => retry(logEngine, request))
    const { destinationId } = request.filter
    const due = destinationId && [
      { destinationId, lane: 'manual', dueAtMs: request.nowMs } as const,
    ]
    if (count > 0) this.#parts.announce(due || undefined)
    return count
  }

  discard(request: DiscardRequest): Promise<number> {
    return this.#change(() => discard(logEngine, request))
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.#parts.inAgreement(() => this.#purge(request))
  }

  /**
   * Reads the ledger and counts the rows, both at the same moment. An audit reads every delivery, so only
   * one runs at a time. Calls made meanwhile share the next audit.
   */
  audit(): Promise<StoreAudit> {
    this.#nextAudit ??= this.#auditing.then(() => {
      this.#nextAudit = undefined
      const audit = this.#audit()
      this.#auditing = audit.catch(() => undefined)
      return audit
    })
    return this.#nextAudit
  }

  /** Returns the number of rows of each table, from the server's statistics, which lag a little. */
  readonly tableRows = (): Promise<readonly TableRows[]> =>
    this.#parts.reading.rows<TableRows>({ sql: tableRowsSql, values: [] })

  async #audit(): Promise<StoreAudit> {
    const read = (): Script<AuditRow | undefined> =>
      firstRow<AuditRow>({ sql: auditSql, values: [] })
    const row = (await this.#parts.reading.change(read, { isLong: true })) ?? {}
    const of = (prefix: string) => ({
      delivered: row[`${prefix}_delivered`] ?? 0,
      failed: row[`${prefix}_failed`] ?? 0,
      expired: row[`${prefix}_expired`] ?? 0,
    })
    return {
      ledger: ledgerOf(row),
      counted: { ...of('counted'), pending: row['counted_pending'] ?? 0 },
      purged: of('purged'),
      withoutBody: row['without_body'] ?? 0,
    }
  }

  #change<Result>(script: () => Script<Result>): Promise<Result> {
    const { inAgreement, working } = this.#parts
    return inAgreement(() => working.change(script))
  }

  async #purge(request: PurgeRequest): Promise<PurgeResult> {
    const { deliveredBeforeMs, failedBeforeMs, messageIdsBeforeMs, rowsMax } = request
    const { working, partitions } = this.#parts
    const purgeEnded = (states: readonly (keyof EndedCounts)[], beforeMs: number) =>
      this.#count({ name: 'purge', sql: purgeEndedSql, values: [states, beforeMs, rowsMax] })
    const delivered = await purgeEnded(['delivered'], deliveredBeforeMs)
    const failed = await purgeEnded(['failed', 'expired'], failedBeforeMs)
    const overdue = await working.change(() => expire(logEngine, request))
    const left = rowsMax - countOf(overdue)
    const abandoned = await working.change(() => abandon(logEngine, request, left))
    const values = [messageIdsBeforeMs, rowsMax]
    const seen = await this.#count({ name: 'forget_seen', sql: forgetSeenSql, values })
    const expired = [...overdue, ...abandoned]
    const rows = delivered + failed + countOf(expired) + seen
    if (rows === 0) await partitions.drop(request)
    return { rows, expired }
  }

  async #count(query: Query): Promise<number> {
    const [row] = await this.#parts.working.rows<{ readonly count: number }>(query)
    return row?.count ?? 0
  }
}
