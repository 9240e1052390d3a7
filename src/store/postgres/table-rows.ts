import type { TableRows } from '../store.ts'
import type { Database } from './database.ts'

/** The partitions of a table count as that table. */
const perTable = `
  SELECT coalesce(parent.relname, own.relname) AS name,
    sum(stats.n_live_tup)::bigint AS live, sum(stats.n_dead_tup)::bigint AS dead
  FROM pg_stat_user_tables AS stats
  JOIN pg_class AS own ON own.oid = stats.relid
  LEFT JOIN pg_inherits ON inhrelid = own.oid
  LEFT JOIN pg_class AS parent ON parent.oid = inhparent
  WHERE own.relname LIKE 'evroute\\_%' AND own.relkind = 'r' AND stats.schemaname = current_schema()
  GROUP BY 1 ORDER BY 1`

/** Asks the server's statistics, which are a little late. */
export async function tableRows(database: Database): Promise<readonly TableRows[]> {
  const rows = await database.rows<{
    readonly name: string
    readonly live: number
    readonly dead: number
  }>({ sql: perTable, values: [] })
  return rows.map(({ name, live, dead }) => ({
    table: name,
    liveRows: live,
    deadRows: dead,
  }))
}
