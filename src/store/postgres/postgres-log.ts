import type { AudienceReader } from '../../audience/index.ts'
import type { RegulationReader, SharedRegulations } from '../../privacy/index.ts'
import { readOnlyError } from '../store-errors.ts'
import { AudienceRows } from '../audiences/audience-rows.ts'
import { RegulationRows } from '../regulations/regulation-rows.ts'
import type { StoreLog } from '../store.ts'
import { Database } from './database.ts'
import { DeliveryLogTables } from './delivery-log.ts'
import { expectWhole, expectTables } from './schema.ts'
import { Notifications } from './notifications.ts'
import { RequestPartitions } from './request-partitions.ts'
import { ServerClock } from './server-clock.ts'
import { SharedArchives } from './shared-archives.ts'

/** Callers of a log mostly do one thing at a time. */
const connectionsMax = 2

/**
 * The delivery log of a database, from which processes may be delivering. It never makes or upgrades tables.
 */
export class PostgresLog extends DeliveryLogTables implements StoreLog {
  readonly audiences: AudienceReader
  readonly regulations: RegulationReader
  readonly sharedRegulations: Pick<SharedRegulations, 'release'>
  readonly #database: Database
  readonly #notifications: Notifications

  private constructor(database: Database, url: string, mayWrite: boolean) {
    // No process that leases deliveries has the number 0.
    const notifications = new Notifications(database, { url, holder: 0 })
    super({
      reading: database,
      working: database,
      partitions: new RequestPartitions(database),
      inAgreement: async (work) => {
        if (!mayWrite) throw readOnlyError(database.name)
        return await work()
      },
      announce: (dueTimes) => notifications.announce(dueTimes),
    })
    this.#database = database
    this.#notifications = notifications
    this.audiences = new AudienceRows(database)
    this.regulations = new RegulationRows(database)
    this.sharedRegulations = new SharedArchives(database, database)
  }

  /** Connects to a database that has tables. */
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

  async close(): Promise<void> {
    await this.#database.close()
    await this.#notifications.close()
  }
}
