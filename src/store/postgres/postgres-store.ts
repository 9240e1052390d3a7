import type { AudienceStore } from '../../audience/index.ts'
import type {
  AddRequest,
  AddResult,
  ClaimRequest,
  DeliveringProcesses,
  DeliveryKey,
  DeliveryStory,
  DiscardRequest,
  DueTime,
  LeasedDelivery,
  ListRequest,
  LoggedDelivery,
  PurgeRequest,
  PurgeResult,
  RetryRequest,
  Settlement,
  SettleRequest,
  StoreAudit,
} from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'
import type { RegulationStore, SharedRegulations } from '../../privacy/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { StoredAudiences } from '../audiences/index.ts'
import { storyOf } from '../log/index.ts'
import { SharedArchives, StoredRegulations } from '../regulations/index.ts'
import type { Store, TableRows } from '../store.ts'
import { readLedger } from './counts.ts'
import { Database } from './database.ts'
import { PostgresProcesses } from './delivering-processes.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { erasureEngine, regulationEngine } from './erasure-engine.ts'
import { Hints, retriedLanes } from './hints.ts'
import { LogReader, requestsOfDelivery } from './log-reader.ts'
import { LogWriter } from './log-writer.ts'
import { expectWhole } from './moves.ts'
import { OnlineSteps } from './online-steps.ts'
import { RequestPartitions } from './request-partitions.ts'
import { writeSample } from './sample.ts'
import { migrate } from './schema.ts'
import { ServerClock } from './server-clock.ts'
import { PostgresSql } from './sql-database.ts'
import { tableRows } from './table-rows.ts'

/** Options of a store in PostgreSQL. */
export interface PostgresStoreOptions {
  /**
   * The length of a lease, in milliseconds; 60,000 by default. Other processes may lease the delivery
   * after it.
   */
  readonly leaseMs?: number
  /**
   * The clock of the times that come in, to compare it with the server's; the system's by default.
   */
  readonly clock?: Pick<Clock, 'nowMs'>
  /** Learns what another process has left to claim; anything if it gets no argument. */
  readonly onHint?: ((dueTimes?: readonly DueTime[]) => void) | undefined
}

const leaseMsDefault = 60_000

/**
 * The groups of connections of a process. A connection is made when it is needed; with `onHint` there
 * is one more. No group takes the connections of another: questions do not delay adding, and neither
 * of them delays delivering.
 */
const connections = Object.freeze({
  /** Adds events. A client that would wait longer learns that its events were not stored. */
  adding: { connectionsMax: 6, isReadOnly: false, answerTimeoutMs: 5_000 },
  /**
   * Answers questions. At most one of these connections is busy with the audit, which takes long.
   */
  reading: { connectionsMax: 3, isReadOnly: true, answerTimeoutMs: 10_000 },
  /** Changes audiences, erases, purges, and retries by hand. */
  working: { connectionsMax: 3, isReadOnly: false },
  /** Claims and settles: a few statements, one after the other. */
  delivering: { connectionsMax: 2, isReadOnly: false, answerTimeoutMs: 15_000 },
  /** Sends heartbeats. A silent connection is replaced before other processes take over. */
  beats: { connectionsMax: 1, isReadOnly: false, answerTimeoutMs: 3_000 },
})

/** The databases by their use. */
type Databases = Readonly<Record<keyof typeof connections, Database>>

/**
 * Keeps deliveries in PostgreSQL for any number of processes. An add that was answered is as durable
 * as the server's `synchronous_commit` makes it.
 *
 * A lease ends by time, measured by the clocks of the processes. Each of these must agree with the
 * server's to within 5 s. While one does not, its process adds, claims, retries and purges nothing.
 * When a process dies, other processes can claim its deliveries after `leaseMs`, in the same lane and
 * with nothing counted. A late settlement of such a lease changes nothing. A living process never
 * leases a delivery that it still has.
 *
 * If the connection is lost while `add` commits, it is unknown whether the events were stored: `add`
 * rejects as temporarily unusable. If they were stored, a second `add` of the same events answers
 * `duplicate`, so nothing is delivered twice. The same process can claim deliveries whose `add` or
 * `claim` was lost at once, and other processes once the leases end. A `settle` that was lost and is
 * repeated ends each lease once, but may log its requests twice.
 */
export class PostgresStore implements Store {
  readonly audiences: AudienceStore
  readonly regulations: RegulationStore
  readonly sharedRegulations: SharedRegulations
  readonly processes: DeliveringProcesses
  readonly tableRows: () => Promise<readonly TableRows[]>
  readonly #databases: Databases
  readonly #hints: Hints
  readonly #onlineSteps: OnlineSteps
  readonly #clock: ServerClock
  readonly #queue: DeliveryQueue
  readonly #reader: LogReader
  readonly #questions: PostgresSql
  readonly #writer: LogWriter

  private constructor(
    databases: Databases,
    { hints, onlineSteps }: { readonly hints: Hints; readonly onlineSteps: OnlineSteps },
    queue: { holder: number; leaseMs: number; clock: ServerClock },
  ) {
    const { adding, reading, working, delivering, beats } = databases
    const partitions = new RequestPartitions(delivering)
    this.#databases = databases
    this.#hints = hints
    this.#onlineSteps = onlineSteps
    this.#clock = queue.clock
    const announce = hints.announce.bind(hints)
    this.#queue = new DeliveryQueue({
      database: adding,
      delivering,
      partitions,
      announce,
      ...queue,
    })
    this.#reader = new LogReader(reading)
    this.#writer = new LogWriter(working, partitions)
    const work = new PostgresSql(working)
    this.#questions = new PostgresSql(reading)
    const erasures = erasureEngine({
      database: working,
      ownLeases: () => this.#queue.own(),
      // Until then some requests cannot be found through their deliveries.
      isReady: () => onlineSteps.isComplete,
      announce: () => this.#queue.announce(),
    })
    this.audiences = new StoredAudiences(
      {
        database: work,
        addEvents: (batch) => this.#queue.addWithin(batch),
        notify: () => this.#queue.announce(),
      },
      this.#questions,
    )
    this.regulations = new StoredRegulations(erasures, regulationEngine(reading))
    this.sharedRegulations = new SharedArchives(work, this.#questions)
    this.processes = new PostgresProcesses(beats, queue.clock, hints)
    this.tableRows = () => tableRows(reading)
  }

  /**
   * Connects to a database, and makes the tables if there are none.
   *
   * @param url - `postgres://user:password@host:5432/database`, with the parameters that `pg` knows
   * @throws EvrouteError `store_unusable` if the database cannot be reached or used, if its clock and
   * the clock of this process differ by more than 5 s, if its tables are of a newer version, or if a
   * move into it is unfinished
   */
  static async open(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
    const { leaseMs = leaseMsDefault, onHint } = options
    const database = new Database(url, connections.working)
    let store: PostgresStore | undefined
    try {
      const clock = new ServerClock(database.name, options.clock)
      await clock.ask(database)
      await migrate(database)
      await expectWhole(database)
      const holder = await newHolder(database)
      const onlineSteps = await OnlineSteps.begin(database, url)
      const heard = (dueTimes?: readonly DueTime[]): void => {
        if (store !== undefined) store.#queue.learn(dueTimes)
        onHint?.(dueTimes)
      }
      const databases = {
        adding: new Database(url, connections.adding),
        reading: new Database(url, connections.reading),
        working: database,
        delivering: new Database(url, connections.delivering),
        beats: new Database(url, connections.beats),
      }
      const hints = new Hints(databases.adding, { url, holder, onHint: onHint && heard })
      const others = { hints, onlineSteps }
      store = new PostgresStore(databases, others, { holder, leaseMs, clock })
      return store
    } catch (error) {
      await database.close()
      throw error
    }
  }

  add(batch: AddRequest): Promise<AddResult> {
    return this.#clock.inAgreement(this.#databases.adding, () => this.#queue.add(batch))
  }

  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]> {
    return this.#clock.inAgreement(this.#databases.delivering, () => this.#queue.claim(request))
  }

  settle(batch: SettleRequest): Promise<readonly Settlement[]> {
    return this.#queue.settle(batch)
  }

  checkWritable(): Promise<void> {
    return writeSample(this.#databases.working)
  }

  nextDue(request: { readonly destinationIds: readonly string[] }): Promise<readonly DueTime[]> {
    return this.#queue.nextDue(request.destinationIds)
  }

  ledger(request?: { readonly destinationId: string }): Promise<DeliveryLedger> {
    return readLedger(this.#databases.reading, request?.destinationId)
  }

  list(request: ListRequest): Promise<readonly LoggedDelivery[]> {
    return this.#reader.list(request)
  }

  story(key: DeliveryKey): Promise<DeliveryStory | undefined> {
    return this.#questions.read(() => storyOf(key, requestsOfDelivery))
  }

  async retry(request: RetryRequest): Promise<number> {
    const retry = (): Promise<number> => this.#writer.retry(request)
    const count = await this.#clock.inAgreement(this.#databases.working, retry)
    if (count > 0) {
      this.#queue.learn(retriedLanes(request))
      this.#hints.announce(retriedLanes(request))
    }
    return count
  }

  discard(request: DiscardRequest): Promise<number> {
    return this.#clock.inAgreement(this.#databases.working, () => this.#writer.discard(request))
  }

  purge(request: PurgeRequest): Promise<PurgeResult> {
    return this.#clock.inAgreement(this.#databases.working, () => this.#writer.purge(request))
  }

  audit(): Promise<StoreAudit> {
    return this.#reader.audit()
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#databases).map((each) => each.close()))
    await Promise.all([this.#hints.close(), this.#onlineSteps.close()])
  }
}

/**
 * A number that no other process has. It is random, because a sequence goes back when a backup is
 * restored, or when a standby that was behind takes over. Writing it also fails on a server that is
 * read-only.
 */
async function newHolder(database: Database): Promise<number> {
  const sql = `SELECT nextval('evroute_holders'),
    1 + floor(random() * ${Number.MAX_SAFE_INTEGER - 1})::bigint AS holder`
  const [row] = await database.rows<{ readonly holder: number }>({ sql, values: [] })
  return row?.holder ?? 0
}
