import { sleep, systemClock, type Timer } from '../../runtime/index.ts'
import { ClosingClient } from './closing-client.ts'
import { sessionUrl } from './connection-url.ts'
import { keepAlive, type Database } from './database.ts'
import { unfinishedWork } from './schema.ts'
import type { OnlineWork } from './step.ts'

/** Held while the work is done, as an advisory lock: the one after that of the processes. */
const lock = '28559206516094055'

/** Pause before a process looks again whether another one has finished. */
const lookAgainMs = 1_000

/** Pause after a failure, such as a full disk. */
const tryAgainMs = 60_000

/**
 * Does what the steps of the tables leave to be done beside those who use the store: building indexes
 * takes minutes where there are millions of rows, and must hold up nobody. One process does it. The
 * server goes on with a statement whose process died, and another process goes on behind it.
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

  /** Begins where something is left to do. */
  static async begin(database: Database, url: string): Promise<OnlineSteps> {
    const begun = new OnlineSteps(url)
    const work = await unfinishedWork(database)
    begun.#isComplete = work.size === 0
    if (!begun.#isComplete) void begun.#run()
    return begun
  }

  /** Whether nothing is left to do. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Leaves the rest to the next process. The server ends the statement that it is at. */
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
    // It may take hours, and reads everything.
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET enable_seqscan = on')
    return client
  }

  /** Whoever waits for the lock inside a statement would hold up the building of an index. */
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

/** An index whose building was interrupted is there, and of no use. */
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
