import {
  Client,
  Pool,
  types,
  type PoolClient,
  type PoolConfig,
  type QueryConfig,
  type QueryResult,
} from 'pg'
import { stopwatch } from '../../runtime/index.ts'
import type { Dialect, Query, Script, SqlDatabase } from '../sql.ts'
import { closedError } from '../store-errors.ts'
import { ClosingClient } from './closing-client.ts'
import { sessionUrl, storeName, type SessionUse } from './connection-url.ts'
import { dialect } from './dialect.ts'
import type { Sockets } from './sockets.ts'
import { isConflict, storeError } from './store-error.ts'

/** A database, or a transaction in it. */
export interface Session {
  /** The name of the database in messages, without the password. */
  readonly name: string
  /** Runs a statement and returns its rows; none for a statement that returns nothing. */
  rows<Row>(query: Query): Promise<readonly Row[]>
}

interface DatabaseOptions extends ConnectionUse {
  readonly connectionsMax: number
  /**
   * How long a statement may take, including the wait for a free connection, in milliseconds; 45,000 by default.
   * After that it fails, and its connection is replaced.
   */
  readonly answerTimeoutMs?: number
}

/** How long to wait for a new or a free connection. */
const connectTimeoutMs = 10_000
/** How long the server lets a statement run. */
const statementTimeoutMs = 30_000
/** How long to wait for the server's answer before it counts as unreachable. */
const answerTimeoutMs = 45_000
const lockTimeoutMs = 10_000
/** How long to use a connection. After that, a new one follows a proxy or a name that leads to a new primary. */
export const connectionAgeMaxMs = 60_000
/** How long a process may leave a transaction idle before the server ends it. */
const idleInTransactionTimeoutMs = 30_000
/** How long statements that read whole tables may run, and wait for locks. */
const longTimeoutMs = 10 * 60_000
const beginLong = `BEGIN; SET LOCAL statement_timeout = ${longTimeoutMs};
  SET LOCAL lock_timeout = ${longTimeoutMs}; SET LOCAL enable_seqscan = on`

/** Maximum number of retries after conflicts. */
const conflictsMax = 10

/** Reads `bigint` as a number, not as text, because counts and times are below 2^53. */
const numberTypes = {
  getTypeParser: (type: Parameters<typeof types.getTypeParser>[0], format?: 'text'): unknown =>
    type === types.builtins.INT8 ? Number : types.getTypeParser(type, format),
} as PoolConfig['types']

/** Runs statements on a pool of connections. Replaces a connection after an error. */
export class Database implements Session, SqlDatabase {
  readonly name: string
  readonly dialect: Dialect = dialect
  readonly #pool: Pool
  readonly #answerTimeoutMs: number
  readonly #underWay = new Set<Promise<unknown>>()
  #closed: Promise<void> | undefined

  constructor(url: string, options: DatabaseOptions) {
    this.name = storeName(url)
    this.#answerTimeoutMs = options.answerTimeoutMs ?? answerTimeoutMs
    this.#pool = new Pool(poolConfig(url, options))
    // The loss of an idle connection is not an error: the next statement gets a new connection.
    this.#pool.on('error', () => undefined)
  }

  /**
   * Runs a statement, and retries it after a conflict with another transaction.
   *
   * @throws EvrouteError `store_closed`; `store_unusable` for every other failure
   */
  async rows<Row>(query: Query): Promise<readonly Row[]> {
    const elapsedMs = stopwatch()
    const once = (): Promise<QueryResult> =>
      this.#lend((client) => {
        // Give the statement the time that is left after the wait for a connection.
        const leftMs = Math.max(1, Math.ceil(this.#answerTimeoutMs - elapsedMs()))
        return client.query({ ...configOf(query), query_timeout: leftMs } as QueryConfig)
      })
    const { rows } = await this.#use(() => repeated(once))
    return rows as readonly Row[]
  }

  /** Runs statements without values in one transaction and one round trip. Returns the rows of each. */
  async script(statements: readonly string[]): Promise<readonly (readonly unknown[])[]> {
    const text = ['BEGIN', ...statements, 'COMMIT'].join(';\n')
    const results = await this.#use(() => this.#pool.query(text))
    return (results as unknown as QueryResult<object>[]).slice(1, -1).map(({ rows }) => rows)
  }

  /** Runs work in one transaction, and retries it after a conflict. `isLong` allows minutes, and doesn't retry. */
  transaction<Result>(
    work: (session: Session) => Promise<Result>,
    { isLong = false }: { readonly isLong?: boolean } = {},
  ): Promise<Result> {
    const limit = isLong ? { query_timeout: longTimeoutMs } : {}
    const once = (): Promise<Result> =>
      this.#lend(async (client) => {
        await client.query(isLong ? beginLong : 'BEGIN')
        const rows = async <Row>(query: Query): Promise<readonly Row[]> =>
          (await client.query({ ...configOf(query), ...limit } as QueryConfig)).rows as Row[]
        const result = await work({ name: this.name, rows })
        await client.query('COMMIT')
        return result
      })
    return this.#use(() => (isLong ? once() : repeated(once)))
  }

  async read<Result>(script: () => Script<Result>): Promise<Result> {
    this.#expectOpen()
    return runScript(this, script())
  }

  change<Result>(
    script: () => Script<Result>,
    options?: { readonly isLong?: boolean },
  ): Promise<Result> {
    return this.transaction((session) => runScript(session, script()), options)
  }

  /** Waits for statements in progress, then closes all connections; idempotent. */
  close(): Promise<void> {
    this.#closed ??= Promise.allSettled(this.#underWay).then(() => this.#pool.end())
    return this.#closed
  }

  #expectOpen(): void {
    if (this.#closed !== undefined) throw closedError()
  }

  async #use<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#expectOpen()
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

  /** Runs work on a connection. After an error, closes it, which rolls its transaction back. */
  async #lend<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect()
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  }
}

/** Runs the statements that a script yields, passes their rows to it, and returns its result. */
export async function runScript<Result>(session: Session, script: Script<Result>): Promise<Result> {
  let step = script.next()
  while (step.done !== true) step = script.next(await session.rows<unknown>(step.value))
  return step.value
}

async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || conflicts >= conflictsMax) throw error
    }
  }
}

/** The plans of larger batches are not reused: with a plan made for ten rows, 1,000 rows take twice as long. */
const plannedRowsMax = 100

function configOf({ name, sql, values }: Query): QueryConfig {
  const isLarge = values.some((value) => Array.isArray(value) && value.length > plannedRowsMax)
  const named = name === undefined || isLarge ? {} : { name: `evroute_${name}` }
  return { ...named, text: sql, values: [...values] }
}

/** How a connection is made and used. */
export interface ConnectionUse extends SessionUse {
  /** Makes the connection's socket; by default, `pg` does. */
  readonly sockets?: Sockets | undefined
}

/**
 * Returns the settings of a connection. TCP keep-alive starts after 10 s, because operating systems check idle
 * connections only after two hours.
 */
export function clientConfig(url: string, use: ConnectionUse = { isReadOnly: false }): PoolConfig {
  const { sockets } = use
  return {
    connectionString: sessionUrl(url, use),
    fallback_application_name: 'evroute',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    ...(sockets && { stream: () => sockets.open() }),
  }
}

function poolConfig(url: string, options: DatabaseOptions): PoolConfig {
  const { answerTimeoutMs: answerMs = answerTimeoutMs } = options
  return {
    ...clientConfig(url, options),
    Client: ClosingClient,
    max: options.connectionsMax,
    maxLifetimeSeconds: connectionAgeMaxMs / 1_000,
    connectionTimeoutMillis: Math.min(connectTimeoutMs, answerMs),
    statement_timeout: Math.min(statementTimeoutMs, answerMs),
    query_timeout: answerMs,
    lock_timeout: Math.min(lockTimeoutMs, answerMs),
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    types: numberTypes,
  }
}

/**
 * Returns the name, host and port of a database, for messages and file names. `pg`'s environment variables and
 * defaults complete the URL.
 *
 * @throws EvrouteError `store_unusable` for a URL that cannot be read
 */
export function databaseTitle(url: string): string {
  try {
    const { database = '', host, port } = new Client({ connectionString: url })
    return `the PostgreSQL database ${database} on ${host}:${port}`
  } catch (error) {
    throw storeError(storeName(url), error)
  }
}
