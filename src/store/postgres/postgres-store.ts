import type { AudienceStore } from '../../audience/index.ts'
import type {
  AddRequest,
  AddResult,
  ClaimRequest,
  DeliveringProcesses,
  DeliveryKey,
  DeliveryStory,
  DueTime,
  LeasedDelivery,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  SettleRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'
import type { RegulationStore } from '../../privacy/index.ts'
import type { Store, TableRows } from '../store.ts'
import { readLedger } from './counts.ts'
import { Database } from './database.ts'
import { PostgresProcesses } from './delivering-processes.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { Hints } from './hints.ts'
import { LogReader } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { expectWhole } from './moves.ts'
import { PostgresAudiences } from './postgres-audiences.ts'
import { PostgresRegulations } from './postgres-regulations.ts'
import { RequestPartitions } from './request-partitions.ts'
import { writeSample } from './sample.ts'
import { migrate } from './schema.ts'
import { tableRows } from './table-rows.ts'

/** How a store in PostgreSQL is used. */
export interface PostgresStoreOptions {
  /** How long a delivery is given out before others may have it, in milliseconds; 60,000 by default. */
  readonly leaseMs?: number
  /** Connections at the most, 10 by default; with `onHint` there is one more. */
  readonly connectionsMax?: number
  /** Is told that another process has left something to claim, or that this may have been missed. */
  readonly onHint?: (() => void) | undefined
}

const leaseMsDefault = 60_000
const connectionsMaxDefault = 10

/**
 * Keeps deliveries in PostgreSQL, for as many processes at once as there are. What `add` has answered
 * for is as durable as the server's `synchronous_commit` makes it.
 *
 * A lease ends by time, measured by the clocks of the processes, which have to agree to some seconds:
 * what a process that died has given out can be claimed again after `leaseMs`, in the lane it was and
 * with nothing counted. Settling such a lease late changes nothing. What a living process has given out
 * is never given out by the same process a second time.
 *
 * Where the connection is lost while `add` commits nobody can say whether it did: it rejects, as
 * temporarily unusable. Whoever adds the same events again is told `duplicate` if it did, so that
 * nothing is delivered twice; what was handed over by it can be claimed once its leases end. A `settle`
 * that was lost this way and is repeated ends each lease once, but may log its requests twice.
 */
export class PostgresStore implements Store {
  readonly audiences: AudienceStore
  readonly regulations: RegulationStore
  readonly processes: DeliveringProcesses
  readonly tableRows: () => Promise<readonly TableRows[]>
  readonly #database: Database
  readonly #hints: Hints
  readonly #queue: DeliveryQueue
  readonly #reader: LogReader
  readonly #writer: LogWriter

  private constructor(
    database: Database,
    hints: Hints,
    queue: { holder: number; leaseMs: number },
  ) {
    const partitions = new RequestPartitions(database)
    this.#database = database
    this.#hints = hints
    const announce = (): void => hints.announce()
    this.#queue = new DeliveryQueue({ database, partitions, announce, ...queue })
    this.#reader = new LogReader(database)
    this.#writer = new LogWriter(database, partitions)
    this.audiences = new PostgresAudiences(database, this.#queue)
    this.regulations = new PostgresRegulations(database, this.#queue)
    this.processes = new PostgresProcesses(database)
    this.tableRows = () => tableRows(database)
  }

  /**
   * Connects to a database; the tables are made where there are none.
   *
   * @param url - `postgres://user:password@host:5432/database`, with the parameters that `pg` knows
   * @throws EvrouteError `store_unusable` when it cannot be reached or used, its tables are of a newer
   * version, or a move into it has not ended
   */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const { leaseMs = leaseMsDefault, connectionsMax = connectionsMaxDefault, onHint } = options
    const database = new Database(url, { connectionsMax, isReadOnly: false })
    try {
      await migrate(database)
      await expectWhole(database)
      // A server that may only be read shows it here.
      const sql = "SELECT nextval('evroute_holders') AS holder"
      const [row] = await database.rows<{ readonly holder: number }>({ sql, values: [] })
      const holder = row?.holder ?? 0
      const hints = new Hints(database, { url, holder, onHint })
      return new PostgresStore(database, hints, { holder, leaseMs })
    } catch (error) {
      await database.close()
      throw error
    }
  }

  add(batch: AddRequest): Promise<AddResult> {
    return this.#queue.add(batch)
  }

  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    return this.#queue.claim(request)
  }

  settle(batch: SettleRequest): Promise<void> {
    return this.#queue.settle(batch)
  }

  checkWritable(): Promise<void> {
    return writeSample(this.#database)
  }

  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]> {
    return this.#queue.nextDue(request.destinationIds)
  }

  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return readLedger(this.#database, request?.destinationId)
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.#reader.list(request)
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.#reader.story(key)
  }

  async retry(request: RetryRequest): Promise<number> {
    const count = await this.#writer.retry(request)
    if (count > 0) this.#hints.announce()
    return count
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.#writer.purge(request)
  }

  audit(): Promise<StoreAudit> {
    return this.#reader.audit()
  }

  async close(): Promise<void> {
    await this.#database.close()
    await this.#hints.close()
  }
}
