import { regulationTypes, effectsOf } from '../../model/index.ts'
import type {
  ArchiveErasure,
  KeptArchive,
  SharedRegulations,
  UnfinishedRegulation,
} from '../../privacy/index.ts'
import { addErased } from '../regulations/stored-regulations.ts'
import { raw, rowsOf, run, sql, type Script } from '../sql.ts'
import { fromStored, toStored } from '../stored-text.ts'
import type { Database } from './database.ts'
import { dialect } from './dialect.ts'

const typesOfArchives = regulationTypes.filter((type) => effectsOf(type).erasesArchives)

const releasedProblem = 'the archive was released before its contents were erased'

/** Records which archives each regulation waits for, in a database that processes share. */
export function sharedArchives(database: Database, reading: Database): SharedRegulations {
  return {
    register: async ({ archives }) => {
      if (archives.length > 0) await database.change(() => register(archives))
    },
    unfinished: async ({ archiveIds }) => {
      const awaited = sql`SELECT 1 FROM evroute_regulation_archives awaited
        WHERE awaited.number = regulation.number`
      const rows = await reading.rows<UnfinishedRegulation>(sql`
        SELECT id,
          EXISTS (${awaited} AND archive_id = ANY (${archiveIds.map(toStored)}::text[])) AS "isArchiveLeft",
          finished_at IS NULL AND (stage <> 'done' OR NOT EXISTS (${awaited})) AS "isDue"
        FROM evroute_regulations regulation WHERE number IN (
          SELECT number FROM evroute_regulations WHERE finished_at IS NULL
          UNION SELECT number FROM evroute_regulation_archives)
        ORDER BY regulation.number`)
      return rows.map(({ id, ...left }) => ({ id: fromStored(id), ...left }))
    },
    release: ({ name }) => database.change(() => release(name)),
  }
}

function* register(archives: readonly KeptArchive[]): Script<void> {
  // Lock first: each regulation is then either committed already, or stored after this transaction.
  yield* run(raw('LOCK TABLE evroute_archives IN ROW EXCLUSIVE MODE'))
  const ids = archives.map(({ id }) => toStored(id))
  const known = yield* rowsOf<{ readonly id: string }>(
    sql`SELECT id FROM evroute_archives WHERE id = ANY (${ids}::text[])`,
  )
  const knownIds = new Set(known.map(({ id }) => id))
  const added = archives.filter(({ id }) => !knownIds.has(toStored(id)))
  if (added.length > 0) yield* awaitAdded(added)
  const names = archives.map(({ name }) => toStored(name))
  yield* run(sql`
    INSERT INTO evroute_archives (id, name)
    SELECT given.id, given.name FROM unnest(${ids}::text[], ${names}::text[]) AS given (id, name)
    ORDER BY given.id ON CONFLICT (id) DO UPDATE SET name = excluded.name`)
}

/**
 * Makes regulations wait for new archives. Unfinished regulations wait, because a new archive may contain older events.
 * A released archive may come back as a new one, so regulations that stopped waiting for it wait again.
 */
function* awaitAdded(archives: readonly KeptArchive[]): Script<void> {
  const rows = yield* rowsOf<{ readonly number: number; readonly archive: string | null }>(sql`
    SELECT number, archive FROM evroute_regulations
    WHERE type = ANY (${typesOfArchives}::text[])
      AND (finished_at IS NULL OR strpos(archive, ${releasedProblem}) > 0) FOR UPDATE`)
  const numbers = rows.map(({ number }) => number)
  yield* run(sql`
    INSERT INTO evroute_regulation_archives (number, archive_id)
    SELECT number, id FROM unnest(${numbers}::bigint[]) AS number
      CROSS JOIN unnest(${archives.map(({ id }) => toStored(id))}::text[]) AS id
    ON CONFLICT DO NOTHING`)
  const solved = archives.map(({ name }) => problemOfReleased(name))
  for (const { number, archive } of rows) {
    const erasure = JSON.parse(archive ?? 'null') as ArchiveErasure | null
    const problems = erasure?.problems.filter((problem) => !solved.includes(problem))
    if (erasure === null || problems?.length === erasure.problems.length) continue
    yield* run(sql`UPDATE evroute_regulations SET archive = ${JSON.stringify({ ...erasure, problems })}
      WHERE number = ${number}`)
  }
}

function problemOfReleased(name: string): string {
  return `${name}: ${releasedProblem}`
}

function* release(name: string): Script<boolean> {
  const released = yield* rowsOf<{ readonly id: string }>(
    sql`DELETE FROM evroute_archives WHERE name = ${toStored(name)} RETURNING id`,
  )
  const waiting = yield* rowsOf<{ readonly number: number }>(sql`
    DELETE FROM evroute_regulation_archives
    WHERE archive_id = ANY (${released.map(({ id }) => id)}::text[]) RETURNING number`)
  const problem = problemOfReleased(name)
  for (const { number } of waiting) {
    yield* addErased(number, { events: 0, files: 0, problems: [problem] }, dialect)
  }
  return released.length > 0
}
