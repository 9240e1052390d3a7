import { regulationTypes, effectsOf } from '../../model/index.ts'
import type {
  ArchiveErasure,
  KeptArchive,
  SharedRegulations,
  UnfinishedRegulation,
} from '../../privacy/index.ts'
import {
  firstRow,
  raw,
  rowsOf,
  run,
  sql,
  type Dialect,
  type Script,
  type SqlDatabase,
} from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'

const typesOfArchives = regulationTypes.filter((type) => effectsOf(type).erasesArchives)

type ArchiveRow = { readonly id: string; readonly name: string }

/** The archives and regulations of processes that share a database. */
export class SharedArchives implements SharedRegulations {
  readonly #database: SqlDatabase
  readonly #reading: SqlDatabase

  /** @param reading - the database for reads */
  constructor(database: SqlDatabase, reading: SqlDatabase) {
    this.#database = database
    this.#reading = reading
  }

  async register({ archives }: { readonly archives: readonly KeptArchive[] }): Promise<void> {
    if (archives.length === 0) return
    const rows = archives.map(({ id, name }) => ({ id: toStored(id), name: toStored(name) }))
    await this.#database.change(() => register(rows, this.#database.dialect))
  }

  async unfinished({
    archiveIds,
  }: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]> {
    const ids = archiveIds.map((id) => ({ id: toStored(id) }))
    const query = sql`
      SELECT id,
        EXISTS (SELECT 1 FROM evroute_regulation_archives awaited
          WHERE awaited.number = regulation.number AND archive_id IN (
            SELECT given.id FROM ${this.#reading.dialect.given(ids, { id: 'text' })})) AS "isArchiveLeft",
        stage <> 'done' OR NOT EXISTS (SELECT 1 FROM evroute_regulation_archives awaited
          WHERE awaited.number = regulation.number) AS "isDue"
      FROM evroute_regulations regulation WHERE finished_at IS NULL ORDER BY regulation.number`
    const rows = await this.#reading.read(() => rowsOf<UnfinishedRegulation>(query))
    return rows.map(({ id, ...left }) => ({ id: fromStored(id), ...left }))
  }

  release({ name }: { readonly name: string }): Promise<boolean> {
    return this.#database.change(() => release(name, this.#database.dialect))
  }
}

function* register(archives: readonly ArchiveRow[], dialect: Dialect): Script<void> {
  // Lock first, so that a process that stores a regulation has either committed it or sees the archives.
  yield* dialect.lockTable('evroute_archives', 'ROW EXCLUSIVE')
  const given = dialect.given(archives, { id: 'text', name: 'text' })
  const types = typesOfArchives.map((type) => ({ type }))
  // An archive that was registered just now may have events from before an unfinished regulation.
  yield* run(sql`
    INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT number, given.id FROM ${given} CROSS JOIN evroute_regulations
    WHERE finished_at IS NULL
      AND type IN (SELECT given.type FROM ${dialect.given(types, { type: 'text' })})
      AND NOT EXISTS (SELECT 1 FROM evroute_archives known WHERE known.id = given.id)
    ON CONFLICT DO NOTHING`)
  yield* run(sql`
    INSERT INTO evroute_archives (id, name) SELECT given.id, given.name FROM ${given} WHERE true
    ORDER BY given.id ON CONFLICT (id) DO UPDATE SET name = excluded.name`)
}

function* release(name: string, dialect: Dialect): Script<boolean> {
  const released = yield* rowsOf<{ readonly id: string }>(
    sql`DELETE FROM evroute_archives WHERE name = ${toStored(name)} RETURNING id`,
  )
  const problem = `${name}: the archive was released before its contents were erased`
  const waiting = yield* rowsOf<{ readonly number: number }>(sql`
    SELECT number FROM evroute_regulation_archives
    WHERE archive_id IN (SELECT given.id FROM ${dialect.given(released, { id: 'text' })})`)
  for (const { number } of waiting) {
    yield* addErased(number, { events: 0, files: 0, problems: [problem] }, dialect)
  }
  yield* forgetAwaited({ archiveIds: released.map(({ id }) => id) }, dialect)
  return released.length > 0
}

/** Adds the counts of erased archives to a regulation. */
export function* addErased(
  number: number,
  { events, files, problems }: ArchiveErasure,
  { forUpdate }: Dialect,
): Script<void> {
  const row = yield* firstRow<{ readonly archive: string | null }>(
    sql`SELECT archive FROM evroute_regulations WHERE number = ${number} ${forUpdate}`,
  )
  const before = JSON.parse(row?.archive ?? 'null') as ArchiveErasure | null
  const archive: ArchiveErasure = {
    events: (before?.events ?? 0) + events,
    files: (before?.files ?? 0) + files,
    problems: [...(before?.problems ?? []), ...problems],
  }
  yield* run(sql`UPDATE evroute_regulations SET archive = ${JSON.stringify(archive)}
    WHERE number = ${number}`)
}

/** Ends the wait of one regulation, or of all, for some archives. Ids are in their stored form. */
export function forgetAwaited(
  { number, archiveIds }: { readonly number?: number; readonly archiveIds: readonly string[] },
  { given }: Dialect,
): Script<void> {
  const ids = given(
    archiveIds.map((id) => ({ id })),
    { id: 'text' },
  )
  const ofRegulation = number === undefined ? raw('') : sql`AND number = ${number}`
  return run(sql`DELETE FROM evroute_regulation_archives
    WHERE archive_id IN (SELECT given.id FROM ${ids}) ${ofRegulation}`)
}
