import type { DueTime } from '../../delivery/index.ts'
import type { Clock } from '../../runtime/index.ts'
import { StoredAudiences } from '../audiences/stored-audiences.ts'
import { StoredRegulations } from '../regulations/stored-regulations.ts'
import { sql } from '../sql.ts'
import type { Store } from '../store.ts'
import { readDestinationCounts, readLedger } from './counts.ts'
import { Database } from './database.ts'
import { deliveryLog } from './delivery-log.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import { erasureEngine } from './erasure-engine.ts'
import { IndexBuilding } from './index-building.ts'
import { LiveProcesses } from './live-processes.ts'
import { expectNoMove, expectTables, migrate } from './schema.ts'
import { Notifications } from './notifications.ts'
import { RequestPartitions } from './request-partitions.ts'
import { ServerClock } from './server-clock.ts'
import { sharedArchives } from './shared-archives.ts'
import { Sockets } from './sockets.ts'

/**
 * Keeps deliveries in PostgreSQL for any number of processes. Once `add` has resolved, its events are as durable
 * as the server's `synchronous_commit` makes them.
 *
 * Leases expire by the clocks of the processes, which must agree with the server's to within 5 s. A process whose
 * clock disagrees cannot add, claim, retry or purge.
 *
 * When a process dies or stalls, other processes can claim its deliveries after `leaseMs`, in the same lane and
 * without counting an attempt. If the stalled process continues and settles them, only `delivered` can take
 * effect. A process never claims a delivery that it is still working on.
 *
 * If the connection is lost while `add` commits, the events may be stored or not, and `add` rejects as temporarily
 * unusable. Adding stored events again answers `duplicate`, and delivers nothing twice. If the answer to an `add` or
 * `claim` is lost, this process can claim the leased deliveries at once, and others once the leases expire.
 * Repeating a lost `settle` ends each lease once, but may log its requests twice.
 */
export type PostgresStore = { readonly [Name in keyof Store]-?: NonNullable<Store[Name]> }

/**
 * What a process may do with a store. Only `deliver` makes tables, leases deliveries and builds indexes. `write`
 * and `read` open the delivery log of a store from which other processes may be delivering.
 */
type StoreAccess = 'deliver' | 'write' | 'read'

/** What a process does with a store in PostgreSQL, and its time limits. */
export interface PostgresStoreOptions {
  /** What this process may do; `deliver` by default. */
  readonly access?: StoreAccess
  /** How long a lease lasts, in milliseconds; 60,000 by default. */
  readonly leaseMs?: number
  /** The clock from which callers take `nowMs`; by default, the system clock. It must agree with the server's. */
  readonly clock?: Pick<Clock, 'nowMs'>
  /** See `OpenStoreOptions`. */
  readonly onNotification?: ((dueTimes?: readonly DueTime[]) => void) | undefined
}

const leaseMsDefault = 60_000

/**
 * The connection pools of a process, which connect when needed. They are separate so that reads don't delay adds, and
 * neither reads nor adds delay deliveries. `onNotification` takes one more connection.
 */
const connections = Object.freeze({
  /** Adds events. After the timeout, the add fails and the client can retry. */
  adding: { connectionsMax: 6, isReadOnly: false, keepsPlans: true, answerTimeoutMs: 5_000 },
  /** For reading. The audit is slow, and uses at most one of these connections. */
  reading: { connectionsMax: 3, isReadOnly: true, answerTimeoutMs: 10_000 },
  /** For changes to audiences, erasures, purges and manual retries. */
  working: { connectionsMax: 3, isReadOnly: false },
  /** For claims and settlements. */
  delivering: { connectionsMax: 2, isReadOnly: false, keepsPlans: true, answerTimeoutMs: 15_000 },
  /** For heartbeats. The timeout is short, so that a silent connection is replaced before other processes take over. */
  heartbeats: { connectionsMax: 1, isReadOnly: false, answerTimeoutMs: 3_000 },
})

type Databases = Readonly<Record<keyof typeof connections, Database>>

/** Maximum number of connections of a process that only uses the log. It has a single pool. */
const logConnectionsMax = 2

/**
 * Connects to a database. A process that delivers makes the tables if there are none.
 *
 * @param url - `postgres://user:password@host:5432/database`, with the parameters that `pg` knows
 * @throws EvrouteError `store_unusable` if the database cannot be reached or used, if its clock and this
 * process's differ by more than 5 s, if its tables are of a newer version, or if a move into it is in progress;
 * without `deliver`, also if its tables are missing or of an older version
 */
export async function openPostgresStore(
  url: string,
  options: PostgresStoreOptions = {},
): Promise<PostgresStore> {
  const { access = 'deliver' } = options
  const sockets = new Sockets()
  const databases = databasesFor(url, { access, sockets })
  const { working } = databases
  const delivers = access === 'deliver'
  try {
    const clock = new ServerClock(databases.adding, options.clock)
    if (access !== 'read') await clock.ask()
    await (delivers ? migrate(working) : expectTables(working))
    await expectNoMove(working)
    // Only processes that deliver have a number other than 0.
    const holder = delivers ? await newHolder(working) : 0
    const indexes = delivers ? await IndexBuilding.begin(working, url) : undefined
    return storeOf({ url, databases, sockets, clock, holder, indexes }, options)
  } catch (error) {
    await closeAll(databases)
    throw error
  }
}

interface StoreParts {
  readonly url: string
  readonly databases: Databases
  readonly sockets: Sockets
  readonly clock: ServerClock
  readonly holder: number
  /** Undefined if this process doesn't deliver. */
  readonly indexes: IndexBuilding | undefined
}

function storeOf(
  { url, databases, sockets, clock, holder, indexes }: StoreParts,
  { leaseMs = leaseMsDefault, onNotification }: PostgresStoreOptions,
): PostgresStore {
  const { adding, reading, working, delivering, heartbeats } = databases
  const partitions = new RequestPartitions(delivering)
  const heard = (dueTimes?: readonly DueTime[]): void => {
    queue.learn(dueTimes)
    onNotification?.(dueTimes)
  }
  const wanted = onNotification && heard
  const notifications = new Notifications(adding, { url, holder, onNotification: wanted })
  const queue = new DeliveryQueue({
    adding,
    delivering,
    partitions,
    notifications,
    holder,
    leaseMs,
  })
  const announce = (dueTimes?: readonly DueTime[]): void => queue.announce(dueTimes)
  const erasures = erasureEngine({
    database: working,
    ownLeases: () => queue.own(),
    // Until the indexes are built, some requests cannot be found through their deliveries.
    isReady: () => indexes?.isComplete === true,
    announce,
  })
  return {
    ...deliveryLog({ reading, working, partitions, clock, announce }),
    add: (batch) => clock.inAgreement(() => queue.add(batch)),
    claim: (request) => clock.inAgreement(() => queue.claim(request)),
    settle: (batch) => queue.settle(batch),
    nextDue: (request) => queue.nextDue(request),
    checkWritable: async () => {
      // Use `adding`: long statements may occupy all connections of `working` while events can still be added.
      await adding.script([sampleSql, dropSampleSql])
    },
    ledger: (request) => readLedger(reading, request?.destinationId),
    destinationCounts: () => readDestinationCounts(reading),
    audiences: new StoredAudiences(
      { database: working, addEvents: (batch) => queue.addWithin(batch), notify: announce },
      reading,
    ),
    regulations: new StoredRegulations(erasures, reading),
    sharedRegulations: sharedArchives(working, reading),
    processes: new LiveProcesses(heartbeats, clock, notifications),
    disconnect: () => sockets.cut(),
    close: async () => {
      await closeAll(databases)
      await Promise.all([notifications.close(), indexes?.close()])
    },
  }
}

function databasesFor(
  url: string,
  { access, sockets }: { readonly access: StoreAccess; readonly sockets: Sockets },
): Databases {
  const ofLog = { connectionsMax: logConnectionsMax, isReadOnly: access === 'read', sockets }
  const shared = access === 'deliver' ? undefined : new Database(url, ofLog)
  const opened = Object.entries(connections).map(([use, of]) => [
    use,
    shared ?? new Database(url, { ...of, sockets }),
  ])
  return Object.fromEntries(opened) as Databases
}

async function closeAll(databases: Databases): Promise<void> {
  await Promise.all(Object.values(databases).map((each) => each.close()))
}

/**
 * Returns a number that no other process has. Random, because a sequence goes back when a backup is restored or a
 * lagging standby takes over. `nextval` is called only because it fails on a read-only server.
 */
async function newHolder(database: Database): Promise<number> {
  const [row] = await database.rows<{
    readonly holder: number
  }>(sql`SELECT nextval('evroute_holders'),
    1 + floor(random() * ${Number.MAX_SAFE_INTEGER - 1}::float8)::bigint AS holder`)
  return row?.holder ?? 0
}

/** Writes 64 KB that hardly compress, which fails on a server whose disk is almost full. */
const sampleSql = `
  INSERT INTO evroute_messages (id, deliveries, body)
  SELECT nextval('evroute_message_ids'), 0, string_agg(md5(number::text), '')
  FROM generate_series(1, 2048) AS number`

const dropSampleSql = "DELETE FROM evroute_messages WHERE id = currval('evroute_message_ids')"
