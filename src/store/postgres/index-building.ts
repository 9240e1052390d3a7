import { sleep, systemClock, type Timer } from '../../runtime/index.ts'
import { raw } from '../sql.ts'
import { ClosingClient } from './closing-client.ts'
import { clientConfig, type Database } from './database.ts'
import { addedIndexes, deleteLeftRequests, latestVersion } from './tables.ts'

const isUnfinished = `NOT is_complete AND step <= ${latestVersion}`
const unfinishedSql = `SELECT FROM evroute_steps WHERE ${isUnfinished}`

/** The building process takes this advisory lock. Its number follows that of the lock for heartbeats. */
const lockSql = 'SELECT pg_try_advisory_lock(28559206516094055) AS is_held'

/** How long to wait before checking again whether another process has finished. */
const lookAgainMs = 1_000

/** How long to wait after a failure, for example on a full disk. */
const tryAgainMs = 60_000

/**
 * Builds indexes while the tables are in use, which takes minutes for millions of rows. One process builds them,
 * and retries after failures. If it dies, the server completes its current statement, and another process
 * continues.
 */
export class IndexBuilding {
  readonly #url: string
  #isComplete: boolean
  #client: ClosingClient | undefined
  #timer: Timer | undefined
  #closed = false

  private constructor(url: string, isComplete: boolean) {
    this.#url = url
    this.#isComplete = isComplete
    if (!isComplete) void this.#run()
  }

  static async begin(database: Database, url: string): Promise<IndexBuilding> {
    const unfinished = await database.rows(raw(unfinishedSql))
    return new IndexBuilding(url, unfinished.length === 0)
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Stops building; another process continues. The server cancels the statement in progress. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#client?.end()
  }

  async #run(): Promise<void> {
    try {
      this.#client = new ClosingClient(clientConfig(this.#url))
      await this.#client.connect()
      await build(this.#client)
      await this.#client.end()
      this.#isComplete = true
    } catch {
      await this.#client?.end().catch(() => undefined)
      if (this.#closed) return
      this.#timer = systemClock.schedule(tryAgainMs, () => void this.#run())
    }
  }
}

/**
 * Takes the lock and builds the indexes. Polls for the lock, because a statement that waits for it would block
 * the process that is building.
 */
async function build(client: ClosingClient): Promise<void> {
  // Lift the session's limits, because building reads whole tables and may take hours.
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET enable_seqscan = on')
  for (;;) {
    const { rows } = await client.query<{ readonly is_held: boolean }>(lockSql)
    if (rows[0]?.is_held === true) break
    await sleep(systemClock, lookAgainMs)
  }
  if ((await client.query(unfinishedSql)).rows.length === 0) return
  for (const { name, on } of addedIndexes) {
    // An interrupted build leaves an invalid index, which must be dropped.
    const broken = await client.query(
      `SELECT FROM pg_index WHERE indexrelid = to_regclass('${name}') AND NOT indisvalid`,
    )
    if (broken.rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${name}`)
    await client.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ${on}`)
  }
  await client.query(deleteLeftRequests)
  await client.query(`UPDATE evroute_steps SET is_complete = true WHERE ${isUnfinished}`)
}
