import {
  Pool,
  types,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
} from 'pg'
import { stopwatch } from '../../runtime/index.ts'
import type { Query, SqlValue } from '../sql/index.ts'
import { ClosingClient } from './closing-client.ts'
import { readableUrl, sessionUrl } from './connection-url.ts'
import { closedError, isConflict, storeError } from './store-error.ts'

/** Runs statements: a database, or a transaction on it. */
export interface Session {
  /** The name of the database in messages, without the password. */
  readonly name: string
  /** Runs a statement. */
  rows<Row>(query: Query): Promise<readonly Row[]>
}

/** Options of a connection to a database. */
export interface DatabaseOptions {
  /** The maximum number of connections. */
  readonly connectionsMax: number
  /** Whether writing is refused. */
  readonly isReadOnly: boolean
  /**
   * The limit for a statement, and before it for a connection to become free, in milliseconds; 45,000
   * by default. A statement that takes longer fails, and its connection is replaced.
   */
  readonly answerTimeoutMs?: number
}

/** The limit for connecting, or for waiting until a connection is free. */
const connectTimeoutMs = 10_000
/** The server ends a statement after this time. */
const statementTimeoutMs = 30_000
/** After this time without an answer the server counts as unreachable. */
const answerTimeoutMs = 45_000
/** The limit for waiting for a lock. */
const lockTimeoutMs = 10_000
/** The server ends a transaction whose process has stood still for this time. */
const idleInTransactionTimeoutMs = 30_000
/** The limit for statements that read everything. */
const longTimeoutMs = 10 * 60_000
const longSettings = [
  `SET LOCAL statement_timeout = ${longTimeoutMs}`,
  'SET LOCAL enable_seqscan = on',
]

/** By default an operating system checks an idle connection only after two hours. */
export const keepAlive: Pick<PoolConfig, 'keepAlive' | 'keepAliveInitialDelayMillis'> =
  Object.freeze({
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })

/**
 * A deadlock or another conflict is retried this often. In each conflict one of the transactions
 * succeeds.
 */
const conflictsMax = 10

/** Counts and times are below 2^53. By default `pg` gives integers of eight bytes as text. */
const numberTypes = {
  getTypeParser: (type: Parameters<typeof types.getTypeParser>[0], format?: 'text'): unknown =>
    type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
} as PoolConfig['types']

/**
 * Runs statements on a few connections, each in a transaction of its own. A connection that fails is
 * replaced at the next statement.
 */
export class Database implements Session {
  readonly name: string
  readonly #pool: Pool
  readonly #answerTimeoutMs: number
  readonly #underWay = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(url: string, options: DatabaseOptions) {
    this.name = readableUrl(url)
    this.#answerTimeoutMs = options.answerTimeoutMs ?? answerTimeoutMs
    this.#pool = new Pool(poolConfig(url, options))
    // The loss of an idle connection is no error: the next statement gets another connection.
    this.#pool.on('error', () => undefined)
  }

  /**
   * Runs a statement. A conflict with another transaction is retried.
   *
   * @throws EvrouteError `store_closed`; `store_unusable` for every other failure
   */
  async rows<Row>(query: Query): Promise<readonly Row[]> {
    const { rows } = await this.#use(() => this.#repeat(query))
    return rows as readonly Row[]
  }

  /**
   * Runs several statements in one round trip; they have no values.
   *
   * @returns the rows of each
   */
  async script(
    statements: readonly string[],
    { isLong = false }: { readonly isLong?: boolean } = {},
  ): Promise<readonly (readonly unknown[])[]> {
    const settings = isLong ? longSettings : []
    const text = ['BEGIN', ...settings, ...statements, 'COMMIT'].join(';\n')
    const query = { text, query_timeout: isLong ? longTimeoutMs : this.#answerTimeoutMs }
    // Connecting reads files that the URL names, and throws when one cannot be read.
    const results = await this.#use(async () => await this.#pool.query(query))
    const skipped = 1 + settings.length
    return (results as unknown as QueryResult<object>[]).slice(skipped, -1).map(({ rows }) => rows)
  }

  /** Makes several changes in one transaction. A conflict with another transaction is retried. */
  change<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#use(() => repeated(() => this.#change(work)))
  }

  /** Runs statements that may take long in one transaction. */
  transaction<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#use(() => this.#lend((client) => inTransaction(client, { name: this.name, work })))
  }

  /** Runs a statement and ignores its outcome. */
  tell(sql: string): void {
    this.rows({ sql, values: [] }).catch(() => undefined)
  }

  /** Checks that the database is not closed. */
  expectOpen(): void {
    if (this.#closed !== undefined) throw closedError()
  }

  /** Waits for statements in progress and ends every connection; idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
    await this.#pool.end()
  }

  async #use<Result>(work: () => Promise<Result>): Promise<Result> {
    this.expectOpen()
    const result = work()
    this.#underWay.add(result)
    try {
      return await result
    } catch (error) {
      throw storeError(this.name, error)
    } finally {
      this.#underWay.delete(result)
    }
  }

  /** A statement has the time that is left once it has a connection. */
  #repeat(query: Query): Promise<QueryResult> {
    const elapsedMs = stopwatch()
    return repeated(() =>
      this.#lend((client) => {
        const leftMs = Math.max(1, Math.ceil(this.#answerTimeoutMs - elapsedMs()))
        return client.query({ ...configOf(query), query_timeout: leftMs } as QueryConfig)
      }),
    )
  }

  #change<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#lend(async (client) => {
      await client.query('BEGIN')
      const result = await work({
        name: this.name,
        rows: async <Row>(query: Query) => (await client.query(configOf(query))).rows as Row[],
      })
      await client.query('COMMIT')
      return result
    })
  }

  /** After an error the connection is closed, which ends its transaction. */
  async #lend<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect()
    let isDone = false
    try {
      const result = await work(client)
      isDone = true
      return result
    } finally {
      client.release(!isDone)
    }
  }
}

/** Repeats work that failed because of a conflict with another transaction. */
async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || conflicts >= conflictsMax) throw error
    }
  }
}

function configOf({ name, sql, values }: Query): QueryConfig {
  const named = name === undefined ? {} : { name: `evroute_${name}` }
  return { ...named, text: sql, values: [...values] }
}

async function inTransaction<Result>(
  client: PoolClient,
  { name, work }: { name: string; work: (session: Session) => Promise<Result> },
): Promise<Result> {
  const query = (text: string, values: readonly SqlValue[] = []): Promise<QueryResult> =>
    client.query({ text, values: [...values], query_timeout: longTimeoutMs } as QueryConfig)
  await query('BEGIN')
  await query(`SET LOCAL statement_timeout = ${longTimeoutMs}`)
  await query(`SET LOCAL lock_timeout = ${longTimeoutMs}`)
  const result = await work({
    name,
    rows: async <Row>({ sql, values }: Query) => (await query(sql, values)).rows as Row[],
  })
  await query('COMMIT')
  return result
}

function poolConfig(url: string, options: DatabaseOptions): PoolConfig {
  const { answerTimeoutMs: answerMs = answerTimeoutMs } = options
  return {
    Client: ClosingClient,
    connectionString: sessionUrl(url, options),
    max: options.connectionsMax,
    fallback_application_name: 'evroute',
    connectionTimeoutMillis: Math.min(connectTimeoutMs, answerMs),
    statement_timeout: Math.min(statementTimeoutMs, answerMs),
    query_timeout: answerMs,
    lock_timeout: Math.min(lockTimeoutMs, answerMs),
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    ...keepAlive,
    types: numberTypes,
  }
}
