import type { PurgeRequest } from '../../delivery/index.ts'
import type { Database } from './database.ts'
import { sql } from '../sql.ts'
import { schemaLock } from './schema.ts'
import { isPartitionMissing } from './store-error.ts'

const dayMs = 24 * 60 * 60 * 1_000

/** Successful requests, which endpoints answered with 2xx, and failed ones have separate partitions. */
type Kind = 'success' | 'failure'

/** Make partitions this many days ahead, because another transaction may lock the tables for a long time. */
const daysAhead = 3

/** How long to wait after a failure, usually because a transaction locks the tables. */
const tryAgainMs = 5 * 60_000

/** The partitions of the request log, one for each day and kind. */
export class RequestPartitions {
  readonly #database: Database
  readonly #made = new Map<number, Promise<unknown>>()
  #aheadFailedMs = -Infinity
  #dropFailedMs = -Infinity
  #droppedOn = -1

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes the partitions for this time, and runs work that writes requests to them. */
  async insert<Result>(nowMs: number, write: () => Promise<Result>): Promise<Result> {
    const day = dayOf(nowMs)
    await this.#make(day)
    void this.#makeAhead(nowMs)
    try {
      return await write()
    } catch (error) {
      if (!isPartitionMissing((error as Error).cause)) throw error
      // Another process, whose clock is ahead, has dropped the partition.
      this.#made.delete(day)
      await this.#make(day)
      return await write()
    }
  }

  /**
   * Drops the partitions of purged deliveries, once a day. Keeps a partition one day longer than its deliveries,
   * because a delivery may end on the day after its requests.
   */
  async drop(request: PurgeRequest): Promise<void> {
    const today = dayOf(request.nowMs)
    if (this.#droppedOn === today || isRecent(this.#dropFailedMs, request.nowMs)) return
    const beforeDays = {
      success: dayOf(request.deliveredBeforeMs) - 1,
      failure: dayOf(Math.min(request.deliveredBeforeMs, request.failedBeforeMs)) - 1,
    }
    const names = await this.#names()
    const old = names.filter(({ kind, day }) => day < beforeDays[kind])
    try {
      for (const { name } of old) await this.#run(`DROP TABLE IF EXISTS ${name}`)
    } catch (error) {
      this.#dropFailedMs = request.nowMs
      throw error
    }
    this.#droppedOn = today
  }

  async #makeAhead(nowMs: number): Promise<void> {
    if (isRecent(this.#aheadFailedMs, nowMs)) return
    const today = dayOf(nowMs)
    try {
      for (let day = today + 1; day <= today + daysAhead; day++) await this.#make(day)
    } catch {
      this.#aheadFailedMs = nowMs
    }
  }

  #make(day: number): Promise<unknown> {
    const known = this.#made.get(day)
    if (known !== undefined) return known
    const made = this.#run(...partitionsFor([day * dayMs]))
    this.#made.set(day, made)
    made.catch(() => this.#made.delete(day))
    return made
  }

  async #names(): Promise<readonly { name: string; kind: Kind; day: number }[]> {
    const rows = await this.#database.rows<{ readonly name: string }>(sql`
      SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent IN ('evroute_requests_success'::regclass, 'evroute_requests_failure'::regclass)`)
    return rows.flatMap(({ name }) => {
      const [, kind, day] = /_(success|failure)_(-?\d+)"?$/.exec(name) ?? []
      return kind === undefined ? [] : [{ name, kind: kind as Kind, day: Number(day) }]
    })
  }

  /** Waits only briefly for transactions that use the tables, because later ones queue behind this one. */
  async #run(...statements: readonly string[]): Promise<void> {
    const lock = `SELECT pg_advisory_xact_lock(${schemaLock})`
    await this.#database.script([lock, "SET LOCAL lock_timeout = '2s'", ...statements])
  }
}

/** Returns the statements that make the partitions for the days of these times. */
export function partitionsFor(momentsMs: readonly number[]): readonly string[] {
  return momentsMs.map(dayOf).flatMap((day) => [create('success', day), create('failure', day)])
}

/** Uses the absolute difference, so that a failure doesn't stay recent if the clock is set back. */
function isRecent(failedMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - failedMs) < tryAgainMs
}

/**
 * Returns the statement that makes a table and attaches it as a partition. `CREATE TABLE ... PARTITION OF` would
 * wait for every transaction that uses any partition.
 */
function create(kind: Kind, day: number): string {
  const parent = `evroute_requests_${kind}`
  const name = `"${parent}_${day}"`
  const [from, to] = [day * dayMs, (day + 1) * dayMs]
  return `DO $$ BEGIN
    IF to_regclass(quote_ident(current_schema()) || '.${name}') IS NULL THEN
      CREATE TABLE ${name} (LIKE ${parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
      ALTER TABLE ${parent} ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to});
    END IF; END $$`
}

function dayOf(momentMs: number): number {
  return Math.floor(momentMs / dayMs)
}
