import type {
  AddOutcome,
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
  Settlement,
  Share,
} from '../../delivery/index.ts'
import { EvrouteError, messageOf, type DeliveryLedger } from '../../model/index.ts'
import { openDatabase, type Database } from './database.ts'
import { DeliveryLock } from './delivery-lock.ts'
import { Leases } from './leases.ts'
import { LedgerCounts } from './ledger-counts.ts'
import { migrate, pragma } from './schema.ts'
import { Statements, type DueRow } from './statements.ts'
import { WriteQueue } from './write-queue.ts'

/** `PRAGMA synchronous` at which a commit is on the disk before it returns. */
const synchronousFull = 2

/**
 * Keeps deliveries in a file: what `add` has answered for survives the end of the process and of the
 * machine.
 *
 * One process delivers from a file. It holds its leases in memory: in the file a leased delivery is
 * pending, so that a process that dies gives back all of them, at once and whatever happened.
 */
export class SqliteStore implements DeliveryStore {
  readonly #path: string
  readonly #database: Database
  readonly #lock: DeliveryLock
  readonly #statements: Statements
  readonly #writes: WriteQueue
  readonly #ledger: LedgerCounts
  readonly #leases = new Leases()
  #nextId: number
  #closed: Promise<void> | undefined

  private constructor(path: string, database: Database, lock: DeliveryLock) {
    this.#path = path
    this.#database = database
    this.#lock = lock
    this.#statements = new Statements(database)
    this.#ledger = new LedgerCounts(database)
    this.#writes = new WriteQueue(database, this.#ledger)
    this.#nextId = this.#statements.lastId() + 1
  }

  /**
   * Opens a file for delivery; it is made when it does not exist.
   *
   * @throws EvrouteError `store_in_use` when another process delivers from it, `store_unusable` when
   * it is not a store, or of a newer version, or cannot be opened
   */
  static async open(path: string): Promise<SqliteStore> {
    let lock: DeliveryLock | undefined
    let database: Database | undefined
    try {
      lock = await DeliveryLock.take(path)
      database = await openDatabase(path)
      database.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000',
      )
      if (pragma(database, 'synchronous') !== synchronousFull) throw new Error('it does not sync')
      migrate(database, path)
      return new SqliteStore(path, database, lock)
    } catch (error) {
      database?.close()
      lock?.release()
      throw storeError(path, error)
    }
  }

  add(batch: {
    readonly nowMs: number
    readonly events: readonly NewEvent[]
  }): Promise<readonly AddOutcome[]> {
    const { nowMs, events } = batch
    return this.#write(() => events.map((event) => this.#addEvent(event, nowMs)))
  }

  claim(request: {
    readonly nowMs: number
    readonly shares: readonly Share[]
  }): Promise<readonly LeasedDelivery[]> {
    return this.#read(() =>
      request.shares.flatMap((share) => this.#claimShare(share, request.nowMs)),
    )
  }

  async settle(batch: {
    readonly nowMs: number
    readonly settlements: readonly Settlement[]
  }): Promise<void> {
    const { nowMs, settlements } = batch
    // Only the leases they were given out with: settling twice changes nothing.
    const current = settlements.filter(({ delivery }) => this.#leases.beginEnd(delivery))
    try {
      await this.#write(() => {
        for (const settlement of current) this.#settleOne(settlement, nowMs)
      })
    } catch (error) {
      for (const { delivery } of current) this.#leases.goOn(delivery)
      throw error
    }
    // Not before the commit: until then the file says that they are due.
    for (const { delivery } of current) this.#leases.end(delivery)
  }

  nextDueMs(request: { readonly destinationIds: readonly string[] }): Promise<number | undefined> {
    return this.#read(() => {
      const dueTimes = request.destinationIds
        .map((id) => this.#due(id, Number.MAX_SAFE_INTEGER, 1)[0]?.due_at)
        .filter((dueAtMs) => dueAtMs !== undefined)
      return dueTimes.length === 0 ? undefined : Math.min(...dueTimes)
    })
  }

  pending(request: { readonly destinationIds: readonly string[] }): Promise<number> {
    return this.#read(() =>
      request.destinationIds.reduce((sum, id) => sum + this.#statements.pending(id), 0),
    )
  }

  ledger(): Promise<DeliveryLedger> {
    return this.#read(() => this.#ledger.read())
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  #addEvent(event: NewEvent, nowMs: number): AddOutcome {
    const { sourceId, messageId, type, deliveries } = event
    this.#ledger.add('accepted', 1)
    const outcome = this.#outcomeOf(event, nowMs)
    this.#ledger.add(outcome, 1)
    if (outcome !== 'routed') return outcome
    const bodyIds = new Map<string, number>()
    for (const { destinationId, body } of deliveries) {
      const bodyId = bodyIds.get(body) ?? this.#statements.addBody(body)
      bodyIds.set(body, bodyId)
      const id = this.#nextId++
      this.#statements.addDelivery({ destinationId, id, sourceId, messageId, type, bodyId, nowMs })
    }
    this.#ledger.add('deliveries', deliveries.length)
    this.#ledger.add('pending', deliveries.length)
    return outcome
  }

  #outcomeOf({ sourceId, messageId, deliveries }: NewEvent, nowMs: number): AddOutcome {
    if (!this.#statements.addSeen({ sourceId, messageId, nowMs })) return 'duplicate'
    return deliveries.length === 0 ? 'filtered' : 'routed'
  }

  #claimShare({ destinationId, deliveriesMax }: Share, nowMs: number): readonly LeasedDelivery[] {
    const claimed = this.#due(destinationId, nowMs, deliveriesMax).map((row) =>
      leasedDelivery(row, this.#statements.body(row.body_id)),
    )
    for (const delivery of claimed) this.#leases.begin(delivery)
    return claimed
  }

  /** What is due and not leased, in order. What is leased is among the first that SQLite finds. */
  #due(destinationId: string, nowMs: number, rowsMax: number): readonly DueRow[] {
    const leasedIds = this.#leases.idsOf(destinationId)
    return this.#statements
      .due({ destinationId, nowMs, rowsMax: rowsMax + leasedIds.size })
      .filter(({ id }) => !leasedIds.has(id))
      .slice(0, rowsMax)
  }

  #settleOne(settlement: Settlement, nowMs: number): void {
    const { delivery, kind } = settlement
    switch (kind) {
      case 'delivered':
      case 'failed':
      case 'expired':
        this.#statements.end({
          delivery,
          state: kind,
          reason: kind === 'delivered' ? null : settlement.reason,
          nowMs,
        })
        this.#ledger.add(kind, 1)
        this.#ledger.add('pending', -1)
        break
      case 'retry':
        this.#statements.retry(settlement)
        break
      case 'returned':
        this.#statements.giveBack(delivery, nowMs)
        break
    }
  }

  async #close(): Promise<void> {
    await this.#writes.idle()
    this.#database.close()
    this.#lock.release()
  }

  async #write<Result>(work: () => Result): Promise<Result> {
    await this.#open()
    try {
      return await this.#writes.run(work)
    } catch (error) {
      throw storeError(this.#path, error)
    }
  }

  async #read<Result>(work: () => Result): Promise<Result> {
    await this.#open()
    try {
      return work()
    } catch (error) {
      throw storeError(this.#path, error)
    }
  }

  /** Every method answers later, and none after `close`. */
  async #open(): Promise<void> {
    await Promise.resolve()
    if (this.#closed === undefined) return
    throw new EvrouteError({ code: 'store_closed', message: 'Cannot use the store: it is closed' })
  }
}

function leasedDelivery(row: DueRow, body: string): LeasedDelivery {
  return {
    id: row.id,
    destinationId: row.destination_id,
    messageId: row.message_id,
    type: row.type,
    body,
    attempts: row.attempts,
    firstAttemptAtMs: row.first_attempt_at,
    refusedUrls: JSON.parse(row.refused_urls) as readonly string[],
  }
}

function storeError(path: string, error: unknown): EvrouteError {
  if (error instanceof EvrouteError) return error
  return new EvrouteError({
    code: 'store_unusable',
    message: `Cannot use the store ${path}: ${messageOf(error)}`,
    hint: 'Check the file, its folder and the room on its disk.',
    cause: error,
  })
}
