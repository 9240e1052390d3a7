import type { AudienceReader } from '../../audience/index.ts'
import { EvrouteError } from '../../model/index.ts'
import type {
  DeliveryKey,
  DeliveryStory,
  DiscardRequest,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import type { RegulationReader, SharedRegulations } from '../../privacy/index.ts'
import type { StoreLog } from '../store.ts'
import { AudienceRows } from '../audiences/index.ts'
import { storyOf } from '../log/index.ts'
import { RegulationRows, SharedArchives } from '../regulations/index.ts'
import { Database } from './database.ts'
import { regulationEngine } from './erasure-engine.ts'
import { Hints, retriedLanes } from './hints.ts'
import { LogReader, requestsOfDelivery } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { expectWhole } from './moves.ts'
import { RequestPartitions } from './request-partitions.ts'
import { expectTables } from './schema.ts'
import { PostgresSql } from './sql-database.ts'
import { ServerClock } from './server-clock.ts'

/** A user of the log does one thing after the other. */
const connectionsMax = 2

/** No process that leases deliveries has this number. */
const nobody = 0

/**
 * The delivery log of a database. Processes may deliver from it at the same time. It never makes or
 * upgrades tables.
 */
export class PostgresLog implements StoreLog {
  readonly audiences: AudienceReader
  readonly regulations: RegulationReader
  readonly sharedRegulations: Pick<SharedRegulations, 'release'>
  readonly #database: Database
  readonly #mayWrite: boolean
  readonly #hints: Hints
  readonly #reader: LogReader
  readonly #questions: PostgresSql
  readonly #writer: LogWriter

  private constructor(database: Database, url: string, mayWrite: boolean) {
    this.#database = database
    this.#mayWrite = mayWrite
    this.#hints = new Hints(database, { url, holder: nobody, onHint: undefined })
    this.#reader = new LogReader(database)
    this.#writer = new LogWriter(database, new RequestPartitions(database))
    this.#questions = new PostgresSql(database)
    this.audiences = new AudienceRows(this.#questions)
    this.regulations = new RegulationRows(regulationEngine(database))
    this.sharedRegulations = new SharedArchives(this.#questions, this.#questions)
  }

  /** Connects to a database with tables. */
  static async open(url: string, { write }: { readonly write: boolean }): Promise<PostgresLog> {
    const database = new Database(url, { connectionsMax, isReadOnly: !write })
    try {
      await expectTables(database)
      await expectWhole(database)
      // A retry takes deliveries whose lease has ended, so the clocks must agree.
      if (write) await new ServerClock(database.name).ask(database)
      return new PostgresLog(database, url, write)
    } catch (error) {
      await database.close()
      throw error
    }
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.#reader.list(request)
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.#questions.read(() => storyOf(key, requestsOfDelivery))
  }

  async retry(request: RetryRequest): Promise<number> {
    this.#expectWritable()
    const count = await this.#writer.retry(request)
    if (count > 0) this.#hints.announce(retriedLanes(request))
    return count
  }

  async discard(request: DiscardRequest): Promise<number> {
    this.#expectWritable()
    return await this.#writer.discard(request)
  }

  async purge(request: PurgeRequest): Promise<PurgeResult> {
    this.#expectWritable()
    return await this.#writer.purge(request)
  }

  audit(): Promise<StoreAudit> {
    return this.#reader.audit()
  }

  async close(): Promise<void> {
    await this.#database.close()
    await this.#hints.close()
  }

  #expectWritable(): void {
    if (this.#mayWrite) return
    throw new EvrouteError({
      code: 'store_unusable',
      message: `Cannot change the store ${this.#database.name}: it was opened to be read`,
      hint: 'Open it with write: true.',
    })
  }
}
