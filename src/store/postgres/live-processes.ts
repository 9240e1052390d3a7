import { escapeLiteral } from 'pg'
import {
  processGoneMs,
  type BreakerNews,
  type DeliveringProcesses,
  type Heartbeat,
  type ProcessMembership,
} from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import type { Notifications } from './notifications.ts'
import type { ServerClock } from './server-clock.ts'

/** `leftAtMs` is the time of the last heartbeat that named the destination; null if the process has not left. */
type Membership = readonly [joinedAtMs: number, leftAtMs: number | null]

/** A process that was live at this process's last heartbeat. */
interface LiveProcess {
  readonly version: number
  readonly destinations: ReadonlyMap<string, Membership>
}

/** `heartbeat` and `leave` take this advisory lock first. Its number follows that of the lock for tables. */
const lock = 'SELECT pg_advisory_xact_lock(28559206516094054)'

/** The server's time after the wait for the lock; the transaction's time would be from before the wait. */
const moment =
  'moment AS MATERIALIZED (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)'

/** A heartbeat in the far future is from before the server's clock was set back. */
const isAlive = `abs(now - beaten_at) < ${processGoneMs}`

const forget = `WITH ${moment} DELETE FROM evroute_live_processes USING moment WHERE NOT (${isAlive})`

interface LiveRow {
  readonly process_id: string
  readonly version: number
  /** Null if this process already knows this version of the destinations. */
  readonly destinations: Readonly<Record<string, Membership>> | null
  readonly now: number
}

/**
 * The processes that deliver from a database. A heartbeat is one round trip, so that a process which stalls cannot
 * keep the lock and block others. A process cannot send heartbeats while its clock disagrees with the server's.
 *
 * If the server's clock is set while processes deliver, all of them count as gone and join anew: for a few seconds,
 * they may together exceed the concurrency of an endpoint.
 */
export class LiveProcesses implements DeliveringProcesses {
  readonly #database: Database
  readonly #clock: ServerClock
  readonly #notifications: Notifications
  /** The destinations in the last heartbeat of each process id, as JSON. */
  readonly #named = new Map<string, string>()
  #known: ReadonlyMap<string, LiveProcess> = new Map()

  constructor(database: Database, clock: ServerClock, notifications: Notifications) {
    this.#database = database
    this.#clock = clock
    this.#notifications = notifications
  }

  async heartbeat({ processId, destinationIds }: Heartbeat): Promise<readonly ProcessMembership[]> {
    if (destinationIds.length === 0) return []
    const named = JSON.stringify(destinationIds)
    const memberships = await this.#clock.inAgreement(async () => {
      const isKnown = this.#named.get(processId) === named
      const alive = isKnown ? await this.#heartbeat(processId, heartbeatSql(processId)) : undefined
      // Join if the destinations changed, or if another process removed this one because it stalled.
      return alive ?? (await this.#heartbeat(processId, joinSql(processId, destinationIds))) ?? []
    })
    this.#named.set(processId, named)
    return memberships
  }

  async leave({ processId }: { readonly processId: string }): Promise<void> {
    this.#named.delete(processId)
    const id = literal(processId)
    const sql = `DELETE FROM evroute_live_processes WHERE process_id = ${id}`
    await this.#database.script([lock, sql])
  }

  tell(news: BreakerNews): void {
    this.#notifications.tell(news)
  }

  listen(heard: (news: BreakerNews) => void): void {
    this.#notifications.onNews = heard
  }

  /** Runs the statement of a heartbeat. Returns undefined if the process is not among the live ones. */
  async #heartbeat(
    processId: string,
    beat: string,
  ): Promise<readonly ProcessMembership[] | undefined> {
    const sinceAskedMs = stopwatch()
    const results = await this.#database.script([lock, forget, beat, aliveSql(this.#known)])
    const rows = results.at(-1) as readonly LiveRow[]
    const [first] = rows
    if (first === undefined) return undefined
    this.#clock.learn(first.now, sinceAskedMs)
    this.#known = new Map(rows.map((row) => [fromStored(row.process_id), this.#processOf(row)]))
    return membershipsOf(processId, this.#known, first.now)
  }

  #processOf({ process_id: id, version, destinations }: LiveRow): LiveProcess {
    const known = this.#known.get(fromStored(id))
    if (destinations === null && known !== undefined) return known
    const entries = Object.entries(destinations ?? {})
    return {
      version,
      destinations: new Map(entries.map(([name, times]) => [fromStored(name), times])),
    }
  }
}

function heartbeatSql(processId: string): string {
  return `WITH ${moment} UPDATE evroute_live_processes SET beaten_at = now FROM moment
    WHERE process_id = ${literal(processId)}`
}

/**
 * Returns the statement that stores the destinations of a process. A process that is alone at a destination counts as
 * having joined it {@link processGoneMs} ago, because there is no other process to wait for.
 */
function joinSql(processId: string, destinationIds: readonly string[]): string {
  const id = literal(processId)
  const isMember = (process: string, destination: string): string =>
    `coalesce((${process}.destinations -> ${destination} ->> 1)::bigint, now) > now - ${processGoneMs}`
  return `
    WITH ${moment}, named (id) AS (
      SELECT unnest(ARRAY[${destinationIds.map(literal).join(', ')}]::text[])
    ), own AS (
      SELECT beaten_at, destinations FROM evroute_live_processes WHERE process_id = ${id}
    ), membership (id, joined_at, left_at) AS (
      SELECT named.id, coalesce(
        (SELECT (own.destinations -> named.id ->> 0)::bigint FROM own WHERE ${isMember('own', 'named.id')}),
        CASE WHEN EXISTS (SELECT FROM evroute_live_processes other
            WHERE process_id <> ${id} AND other.destinations ? named.id
              AND ${isMember('other', 'named.id')})
          THEN now ELSE now - ${processGoneMs} END), NULL
      FROM named, moment
      UNION ALL
      SELECT before.key, (before.value ->> 0)::bigint,
        coalesce((before.value ->> 1)::bigint, own.beaten_at)
      FROM own, moment, jsonb_each(own.destinations) before
      WHERE before.key NOT IN (SELECT named.id FROM named) AND ${isMember('own', 'before.key')}
    )
    INSERT INTO evroute_live_processes AS kept (process_id, beaten_at, version, destinations)
    SELECT ${id}, now, now, jsonb_object_agg(id, jsonb_build_array(joined_at, left_at))
    FROM membership, moment GROUP BY now
    ON CONFLICT (process_id) DO UPDATE SET
      beaten_at = excluded.beaten_at, version = excluded.version, destinations = excluded.destinations`
}

/** Returns the query for the live processes. It omits a process's destinations if their version is known. */
function aliveSql(known: ReadonlyMap<string, LiveProcess>): string {
  const versions = Array.from(known, ([id, { version }]) => `(${literal(id)}, ${version})`)
  const isKnown =
    versions.length === 0 ? 'false' : `(process_id, version) IN (VALUES ${versions.join(', ')})`
  return `WITH ${moment} SELECT process_id, version, now,
      CASE WHEN ${isKnown} THEN NULL ELSE destinations END AS destinations
    FROM evroute_live_processes, moment`
}

function literal(text: string): string {
  return escapeLiteral(toStored(text))
}

/**
 * Returns the rank of a process among the live ones, for each of its destinations; undefined if it is not live.
 * A process that left a destination counts there for {@link processGoneMs} longer: it may have requests in flight.
 */
function membershipsOf(
  processId: string,
  processes: ReadonlyMap<string, LiveProcess>,
  nowMs: number,
): readonly ProcessMembership[] | undefined {
  const own = processes.get(processId)
  if (own === undefined) return undefined
  return [...own.destinations].flatMap(([destinationId, [joinedAtMs, leftAtMs]]) => {
    if (leftAtMs !== null) return []
    const members = [...processes].flatMap(([id, { destinations }]) => {
      const membership = destinations.get(destinationId)
      if (membership === undefined || !isMember(membership, nowMs)) return []
      return [{ id, atMs: membership[0] }]
    })
    const before = members.filter(
      ({ id, atMs }) => atMs < joinedAtMs || (atMs === joinedAtMs && id < processId),
    )
    const memberMs = nowMs - joinedAtMs
    return { destinationId, rank: before.length, processes: members.length, memberMs }
  })
}

function isMember([, leftAtMs]: Membership, nowMs: number): boolean {
  return leftAtMs === null || leftAtMs > nowMs - processGoneMs
}
