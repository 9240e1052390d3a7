import { regulationTypes, effectsOf } from '../../model/index.ts'
import type { KeptArchive, SharedRegulations, UnfinishedRegulation } from '../../privacy/index.ts'
import { addErased } from '../regulations/stored-regulations.ts'
import { raw, rowsOf, run, sql, type Script } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'

const typesOfArchives = regulationTypes.filter((type) => effectsOf(type).erasesArchives)

/** The archives and regulations of processes that share a database. */
export class SharedArchives implements SharedRegulations {
  readonly #database: Database
  readonly #reading: Database

  /** @param reading - the database for reads */
  constructor(database: Database, reading: Database) {
    this.#database = database
    this.#reading = reading
  }

  async register({ archives }: { readonly archives: readonly KeptArchive[] }): Promise<void> {
    if (archives.length > 0) await this.#database.change(() => register(archives))
  }

  async unfinished({
    archiveIds,
  }: {
    readonly archiveIds: readonly string[]
  }): Promise<readonly UnfinishedRegulation[]> {
    const awaited = sql`SELECT 1 FROM evroute_regulation_archives awaited
      WHERE awaited.number = regulation.number`
    const rows = await this.#reading.rows<UnfinishedRegulation>(sql`
      SELECT id,
        EXISTS (${awaited} AND archive_id = ANY (${archiveIds.map(toStored)}::text[])) AS "isArchiveLeft",
        stage <> 'done' OR NOT EXISTS (${awaited}) AS "isDue"
      FROM evroute_regulations regulation WHERE finished_at IS NULL ORDER BY regulation.number`)
    return rows.map(({ id, ...left }) => ({ id: fromStored(id), ...left }))
  }

  release({ name }: { readonly name: string }): Promise<boolean> {
    return this.#database.change(() => release(name))
  }
}

function* register(archives: readonly KeptArchive[]): Script<void> {
  // Lock first, so that a process that stores a regulation has either committed it or sees the archives.
  yield* run(raw('LOCK TABLE evroute_archives IN ROW EXCLUSIVE MODE'))
  const ids = archives.map(({ id }) => toStored(id))
  const names = archives.map(({ name }) => toStored(name))
  const given = sql`unnest(${ids}::text[], ${names}::text[]) AS given (id, name)`
  // An archive that was registered just now may have events from before an unfinished regulation.
  yield* run(sql`
    INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT number, given.id FROM ${given} CROSS JOIN evroute_regulations
    WHERE finished_at IS NULL AND type = ANY (${typesOfArchives}::text[])
      AND NOT EXISTS (SELECT 1 FROM evroute_archives known WHERE known.id = given.id)
    ON CONFLICT DO NOTHING`)
  yield* run(sql`
    INSERT INTO evroute_archives (id, name) SELECT given.id, given.name FROM ${given}
    ORDER BY given.id ON CONFLICT (id) DO UPDATE SET name = excluded.name`)
}

function* release(name: string): Script<boolean> {
  const released = yield* rowsOf<{ readonly id: string }>(
    sql`DELETE FROM evroute_archives WHERE name = ${toStored(name)} RETURNING id`,
  )
  const waiting = yield* rowsOf<{ readonly number: number }>(sql`
    DELETE FROM evroute_regulation_archives
    WHERE archive_id = ANY (${released.map(({ id }) => id)}::text[]) RETURNING number`)
  const problem = `${name}: the archive was released before its contents were erased`
  for (const { number } of waiting) {
    yield* addErased(number, { events: 0, files: 0, problems: [problem] }, dialect)
  }
  return released.length > 0
}
