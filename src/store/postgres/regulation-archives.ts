import { effectsOf, regulationTypes } from '../../model/index.ts'
import type {
  ArchiveErasure,
  KeptArchive,
  SharedRegulations,
  UnfinishedRegulation,
} from '../../privacy/index.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Database, Session } from './database.ts'

/**
 * The step that makes the tables of archives, which are on disks of processes.
 *
 * - `archives`: those that there are, under the names that people know
 * - `regulation_archives`: those that a regulation waits for
 */
export const archiveTables: readonly string[] = [
  `CREATE TABLE evroute_archives (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL
  )`,
  `CREATE TABLE evroute_regulation_archives (
    number bigint NOT NULL,
    archive_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (number, archive_id)
  )`,
]

const typesOfArchives = regulationTypes.filter((type) => effectsOf(type).erasesArchives)

/** Of an archive that was not there before: it may be older than what is not finished. */
const awaitNewSql = `
  INSERT INTO evroute_regulation_archives (number, archive_id)
  SELECT number, given.id FROM unnest($1::text[]) AS given (id) CROSS JOIN evroute_regulations
  WHERE finished_at IS NULL AND type = ANY ($2::text[])
    AND NOT EXISTS (SELECT FROM evroute_archives known WHERE known.id = given.id)
  ON CONFLICT DO NOTHING`

const registerSql = `
  INSERT INTO evroute_archives (id, name)
  SELECT * FROM unnest($1::text[], $2::text[]) AS given (id, name) ORDER BY id
  ON CONFLICT (id) DO UPDATE SET name = excluded.name`

const unfinishedSql = `
  SELECT id, own.is_left AS "isArchiveLeft",
    stage <> 'done' OR NOT EXISTS (
      SELECT FROM evroute_regulation_archives awaited WHERE awaited.number = regulation.number
    ) AS "isDue"
  FROM evroute_regulations regulation
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM evroute_regulation_archives awaited
      WHERE awaited.number = regulation.number AND archive_id = ANY ($1::text[])) AS is_left) own
  WHERE finished_at IS NULL ORDER BY regulation.number`

const awaitedSql = `
  SELECT number, name FROM evroute_regulation_archives
  JOIN evroute_archives ON id = archive_id
  WHERE number = ANY ($1::bigint[]) ORDER BY number, name`

/** What processes that share a database know of each other's archives and regulations. */
export class PostgresSharedRegulations implements SharedRegulations {
  readonly #database: Database
  readonly #reading: Database

  /** @param reading - connections for questions */
  constructor(database: Database, reading: Database) {
    this.#database = database
    this.#reading = reading
  }

  async register({ archives }: { readonly archives: readonly KeptArchive[] }): Promise<void> {
    if (archives.length === 0) return
    const ids = archives.map(({ id }) => toStored(id))
    const names = archives.map(({ name }) => toStored(name))
    await this.#database.change(async (session) => {
      // Before it is looked for regulations: whoever stores one has it committed then, or sees the archive.
      await session.rows({ sql: 'LOCK TABLE evroute_archives IN ROW EXCLUSIVE MODE', values: [] })
      await session.rows({ sql: awaitNewSql, values: [ids, typesOfArchives] })
      await session.rows({ sql: registerSql, values: [ids, names] })
    })
  }

  async unfinished({
    archiveIds,
  }: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]> {
    const values = [archiveIds.map(toStored)]
    const query = { name: 'unfinished_regulations', sql: unfinishedSql, values }
    const rows = await this.#reading.rows<UnfinishedRegulation>(query)
    return rows.map(({ id, ...left }) => ({ id: fromStored(id), ...left }))
  }

  release({ name }: { readonly name: string }): Promise<boolean> {
    return this.#database.change(async (session) => {
      const sql = 'DELETE FROM evroute_archives WHERE name = $1 RETURNING id'
      const released = await session.rows<{ readonly id: string }>({
        sql,
        values: [toStored(name)],
      })
      const ids = released.map(({ id }) => id)
      const problem = `${name}: it was released, and what was in it was not erased`
      const waiting = await session.rows<{ readonly number: number }>({
        sql: 'SELECT number FROM evroute_regulation_archives WHERE archive_id = ANY ($1::text[])',
        values: [ids],
      })
      for (const { number } of waiting) {
        await addErased(session, number, { events: 0, files: 0, problems: [problem] })
      }
      await forgetAwaited(session, { archiveIds: ids })
      return ids.length > 0
    })
  }
}

/**
 * Has a regulation wait for the archives that there are; until the end of the transaction no other is
 * registered.
 */
export async function awaitArchives(session: Session, number: number): Promise<void> {
  await session.rows({ sql: 'LOCK TABLE evroute_archives IN SHARE MODE', values: [] })
  const sql = `INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT $1, id FROM evroute_archives`
  await session.rows({ sql, values: [number] })
}

/** Adds to what of archives was erased for a regulation. */
export async function addErased(
  session: Session,
  number: number,
  { events, files, problems }: ArchiveErasure,
): Promise<void> {
  const sql = 'SELECT archive FROM evroute_regulations WHERE number = $1 FOR UPDATE'
  const [row] = await session.rows<{ readonly archive: string | null }>({ sql, values: [number] })
  const before = JSON.parse(row?.archive ?? 'null') as ArchiveErasure | null
  const archive: ArchiveErasure = {
    events: (before?.events ?? 0) + events,
    files: (before?.files ?? 0) + files,
    problems: [...(before?.problems ?? []), ...problems],
  }
  const update = 'UPDATE evroute_regulations SET archive = $2 WHERE number = $1'
  await session.rows({ sql: update, values: [number, JSON.stringify(archive)] })
}

/** Nobody waits for archives any more, or one regulation does not. */
export async function forgetAwaited(
  session: Session,
  { number, archiveIds }: { readonly number?: number; readonly archiveIds: readonly string[] },
): Promise<void> {
  const sql = `DELETE FROM evroute_regulation_archives
    WHERE archive_id = ANY ($1::text[]) AND number = coalesce($2::bigint, number)`
  await session.rows({ sql, values: [archiveIds, number ?? null] })
}

/** The archives that regulations wait for, by name. */
export async function awaitedArchives(
  session: Session,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const query = { name: 'awaited_archives', sql: awaitedSql, values: [numbers] }
  const rows = await session.rows<{ readonly number: number; readonly name: string }>(query)
  const names = new Map<number, string[]>()
  for (const { number, name } of rows) {
    names.set(number, [...(names.get(number) ?? []), fromStored(name)])
  }
  return names
}
