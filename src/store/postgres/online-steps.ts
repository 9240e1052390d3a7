import { sleep, systemClock, type Timer } from '../../runtime/index.ts'
import { ClosingClient } from './closing-client.ts'
import { sessionUrl } from './connection-url.ts'
import { keepAlive, type Database } from './database.ts'
import { unfinishedWork } from './schema.ts'
import type { OnlineWork } from './step.ts'

/** The advisory lock of the work. It is the number after the lock of the processes. */
const lock = '28559206516094055'

/** The pause before a process checks again whether another one has finished the work. */
const lookAgainMs = 1_000

/** The pause after a failure, for example of a full disk. */
const tryAgainMs = 60_000

/**
 * Does the online work of the steps. Building an index takes minutes for millions of rows, and must
 * not block the processes that use the store. One process does the work. If it dies, the server
 * completes the statement in progress, and another process continues after it.
 */
export class OnlineSteps {
  readonly #url: string
  #isComplete = false
  #client: ClosingClient | undefined
  #timer: Timer | undefined
  #closed = false

  private constructor(url: string) {
    this.#url = url
  }

  /** Begins if there is work to do. */
  static async begin(database: Database, url: string): Promise<OnlineSteps> {
    const begun = new OnlineSteps(url)
    const work = await unfinishedWork(database)
    begun.#isComplete = work.size === 0
    if (!begun.#isComplete) void begun.#run()
    return begun
  }

  /** Whether all work is done. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Leaves the rest to another process. The server cancels the statement in progress. */
  async close(): Promise<void> {
    this.#closed = true
    this.#timer?.cancel()
    await this.#client?.end()
  }

  async #run(): Promise<void> {
    try {
      const client = await this.#connect()
      await this.#finish(client)
      await client.end()
      this.#isComplete = true
    } catch {
      await this.#client?.end().catch(() => undefined)
      if (this.#closed) return
      this.#timer = systemClock.schedule(tryAgainMs, () => void this.#run())
    }
  }

  async #connect(): Promise<ClosingClient> {
    const client = new ClosingClient({
      connectionString: sessionUrl(this.#url, { isReadOnly: false }),
      fallback_application_name: 'evroute',
      ...keepAlive,
    })
    this.#client = client
    await client.connect()
    // The work may take hours, and it reads everything.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET enable_seqscan = on')
    return client
  }

  /** Polls for the lock. A statement that waits for it would block the building of an index. */
  async #finish(client: ClosingClient): Promise<void> {
    const take = `SELECT pg_try_advisory_lock(${lock}) AS is_held`
    for (;;) {
      const { rows } = await client.query<{ readonly is_held: boolean }>(take)
      if (rows[0]?.is_held === true) break
      await sleep(systemClock, lookAgainMs)
    }
    const session = {
      name: '',
      rows: async <Row>({ sql }: { readonly sql: string }) =>
        (await client.query(sql)).rows as Row[],
    }
    for (const [step, work] of await unfinishedWork(session)) {
      await doWork(client, work)
      await client.query(`UPDATE evroute_steps SET is_complete = true WHERE step = ${step}`)
    }
  }
}

/** An index whose building was interrupted exists but cannot be used. */
async function doWork(client: ClosingClient, { indexes, statements }: OnlineWork): Promise<void> {
  for (const { name, on } of indexes) {
    const broken = await client.query(
      `SELECT FROM pg_index WHERE indexrelid = to_regclass('${name}') AND NOT indisvalid`,
    )
    if (broken.rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${name}`)
    await client.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${name} ${on}`)
  }
  for (const statement of statements) await client.query(statement)
}
