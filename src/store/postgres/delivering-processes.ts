import { escapeLiteral } from 'pg'
import {
  processGoneMs,
  type DeliveringProcesses,
  type ProcessBeat,
  type ProcessPlace,
} from '../../delivery/index.ts'
import { stopwatch } from '../../runtime/index.ts'
import { toStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import { ServerClock } from './server-clock.ts'

/**
 * The step that makes the table: which processes send to which destination, in milliseconds since 1970
 * of the server's clock.
 */
export const processTables: readonly string[] = [
  `CREATE TABLE evroute_processes (
    destination_id text COLLATE "C" NOT NULL,
    process_id text COLLATE "C" NOT NULL,
    joined_at bigint NOT NULL,
    beaten_at bigint NOT NULL,
    PRIMARY KEY (destination_id, process_id)
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0)`,
]

/** What whoever beats or leaves locks first, as an advisory lock: one more than that of the tables. */
const lock = 'SELECT pg_advisory_xact_lock(28559206516094054)'

/** The server's time when a statement begins, which is after the lock: that of its transaction is not. */
const moment =
  'moment AS MATERIALIZED (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now)'

/** A row of that age still tells others since when they have been the same ones. */
const forgottenMs = 2 * processGoneMs

/** What is known of what a process does not count any more. */
const forget = `WITH ${moment} DELETE FROM evroute_processes USING moment
  WHERE beaten_at <= now - ${forgottenMs}`

interface PlaceRow {
  readonly place: number
  readonly rank: number
  readonly processes: number
  readonly member: number
  readonly unchanged: number
  readonly now: number
}

/**
 * The processes that deliver from a database. Each beat is one round trip, whose statements the server
 * runs without waiting for anybody: a process that stands still holds no other up.
 *
 * The server's clock must not be set forward by more than a few seconds while processes deliver: all of
 * them would seem gone. A process whose own clock differs from it is not there until they agree.
 */
export class PostgresProcesses implements DeliveringProcesses {
  readonly #database: Database
  readonly #clock: ServerClock

  constructor(database: Database, clock: ServerClock = new ServerClock(database.name)) {
    this.#database = database
    this.#clock = clock
  }

  async beat({ processId, destinationIds }: ProcessBeat): Promise<readonly ProcessPlace[]> {
    if (destinationIds.length === 0) return []
    return this.#clock.inAgreement(this.#database, () => this.#beat({ processId, destinationIds }))
  }

  async #beat({ processId, destinationIds }: ProcessBeat): Promise<readonly ProcessPlace[]> {
    const process = literal(processId)
    const named = `named (id, place) AS (
      SELECT * FROM unnest(ARRAY[${destinationIds.map(literal).join(', ')}]::text[]) WITH ORDINALITY)`
    const sinceAskedMs = stopwatch()
    const results = await this.#database.script([
      lock,
      forget,
      joinSql(named, process),
      placesSql(named, process),
    ])
    const rows = results.at(-1) as readonly PlaceRow[]
    if (rows[0] !== undefined) this.#clock.learn(rows[0].now, sinceAskedMs)
    return rows.flatMap(({ place, rank, processes, member, unchanged }) => {
      const destinationId = destinationIds[place - 1]
      if (destinationId === undefined) return []
      return [{ destinationId, rank, processes, memberMs: member, unchangedMs: unchanged }]
    })
  }

  async leave({ processId }: { readonly processId: string }): Promise<void> {
    // Its rows tell until when it was there.
    await this.#database.script([
      lock,
      `WITH ${moment} UPDATE evroute_processes SET beaten_at = now - ${processGoneMs} FROM moment
        WHERE process_id = ${literal(processId)} AND beaten_at > now - ${processGoneMs}`,
    ])
  }
}

/** One that finds nobody has nobody to wait for, and is there as if it had always been. */
function joinSql(named: string, process: string): string {
  return `WITH ${moment}, ${named}
    INSERT INTO evroute_processes AS own (destination_id, process_id, joined_at, beaten_at)
    SELECT id, ${process}, CASE WHEN EXISTS (
        SELECT FROM evroute_processes other
        WHERE other.destination_id = id AND other.beaten_at > now - ${processGoneMs}
      ) THEN now ELSE now - ${processGoneMs} END, now
    FROM named, moment
    ON CONFLICT (destination_id, process_id) DO UPDATE SET
      beaten_at = excluded.beaten_at,
      joined_at = CASE WHEN own.beaten_at > excluded.beaten_at - ${processGoneMs}
        THEN own.joined_at ELSE excluded.joined_at END`
}

function placesSql(named: string, process: string): string {
  const isThere = (row: string): string => `${row}.beaten_at > now - ${processGoneMs}`
  return `WITH ${moment}, ${named}
    SELECT place::integer,
      (count(*) FILTER (WHERE ${isThere('each')}
        AND (each.joined_at, each.process_id) < (own.joined_at, own.process_id)))::integer AS rank,
      (count(*) FILTER (WHERE ${isThere('each')}))::integer AS processes,
      now - own.joined_at AS member,
      now - max(CASE WHEN ${isThere('each')} THEN each.joined_at
        ELSE each.beaten_at + ${processGoneMs} END) AS unchanged,
      now
    FROM named CROSS JOIN moment
    JOIN evroute_processes own ON own.destination_id = id AND own.process_id = ${process}
    JOIN evroute_processes each ON each.destination_id = id
    GROUP BY place, now, own.joined_at, own.process_id`
}

function literal(text: string): string {
  return escapeLiteral(toStored(text))
}
