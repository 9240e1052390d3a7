import { readdir, readFile } from 'node:fs/promises'
import { Client } from 'pg'

/** A server's counters so far, and the sizes of its tables. */
export interface ServerFigures {
  /** Bytes of WAL written. */
  readonly walBytes: number
  /** CPU time of all its processes, in milliseconds. */
  readonly cpuMs: number
  /** The number of claims, and the time that they took. */
  readonly claims: { readonly count: number; readonly totalMs: number }
  /** Bytes and dead rows by table; partitions count towards their table. */
  readonly tables: ReadonlyMap<string, { readonly bytes: number; readonly deadRows: number }>
}

/** Server settings that record how long each statement takes. */
export const statementSettings = ['shared_preload_libraries=pg_stat_statements']

const walSql = "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 AS bytes"
const claimSql = `SELECT coalesce(sum(calls), 0)::float8 AS count,
    coalesce(sum(total_exec_time), 0) AS "totalMs"
  FROM pg_stat_statements WHERE query LIKE '%picked.position%'`
const tablesSql = `
  SELECT regexp_replace(relname, '^evroute_|_(success|failure)|_-?[0-9]+$', '', 'g') AS name,
    sum(pg_total_relation_size(relid))::float8 AS bytes, sum(n_dead_tup)::float8 AS "deadRows"
  FROM pg_stat_user_tables GROUP BY 1 ORDER BY 2 DESC`
const statementsSql = `
  SELECT round(total_exec_time) AS "ms", calls, round(mean_exec_time::numeric, 2) AS mean,
    round(wal_bytes / 1e6) AS "walMb", left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS query
  FROM pg_stat_statements ORDER BY total_exec_time DESC LIMIT 14`

/** Linux counts CPU time in hundredths of a second. */
const msPerTick = 10

/** Reads a server's statistics, over its own connection. */
export class ServerWatch {
  readonly #client: Client
  readonly #pid: number

  private constructor(client: Client, pid: number) {
    this.#client = client
    this.#pid = pid
  }

  /** Connects to a database of a server that was started with {@link statementSettings}. */
  static async open(url: string): Promise<ServerWatch> {
    const client = new Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return new ServerWatch(client, (await statOf(rows[0]?.pid ?? 0)).parent)
  }

  /** Reads the counters and sizes. */
  async read(): Promise<ServerFigures> {
    const [wal] = await this.#rows<{ bytes: number }>(walSql)
    const [claims = { count: 0, totalMs: 0 }] = await this.#rows<ServerFigures['claims']>(claimSql)
    const tables = await this.#rows<{ name: string; bytes: number; deadRows: number }>(tablesSql)
    return {
      walBytes: wal?.bytes ?? NaN,
      cpuMs: await this.#cpuMs(),
      claims,
      tables: new Map(tables.map(({ name, ...table }) => [name, table])),
    }
  }

  /** The statements that took the longest in total, one per line. */
  async statements(): Promise<readonly string[]> {
    const rows =
      await this.#rows<Record<'ms' | 'calls' | 'mean' | 'walMb' | 'query', string>>(statementsSql)
    return rows.map(
      ({ ms, calls, mean, walMb, query }) =>
        `${ms} ms, ${calls} times ${mean} ms, ${walMb} MB of WAL: ${query}`,
    )
  }

  /** Closes the connection. */
  end(): Promise<void> {
    return this.#client.end()
  }

  async #rows<Row>(sql: string): Promise<readonly Row[]> {
    return (await this.#client.query(sql)).rows as Row[]
  }

  /** CPU time of the server and its children, including children that have ended. */
  async #cpuMs(): Promise<number> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
    const stats = await Promise.all(pids.map(statOf))
    const children = stats.filter(({ parent }) => parent === this.#pid)
    const { ticks, ticksOfEnded } = await statOf(this.#pid)
    return msPerTick * children.reduce((sum, each) => sum + each.ticks, ticks + ticksOfEnded)
  }
}

interface ProcessStat {
  readonly parent: number
  readonly ticks: number
  readonly ticksOfEnded: number
}

/** Returns zeros for a process that has ended. */
async function statOf(pid: number): Promise<ProcessStat> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
  return { parent: fields[1] ?? 0, ticks: user + system, ticksOfEnded: endedUser + endedSystem }
}
