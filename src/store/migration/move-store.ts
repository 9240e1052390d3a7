import type { Session } from '../postgres/database.ts'
import {
  compareFigures,
  movedTables,
  type ComparedFigure,
  type StoreFigures,
} from './moved-tables.ts'
import { complete, figuresIn, insertRows, PostgresImport } from './postgres-import.ts'
import { SqliteExport } from './sqlite-export.ts'

/** How far a move has got with one kind of rows. */
export interface MoveProgress {
  /** The name of the rows that are being moved, such as `deliveries`. */
  readonly title: string
  /** Rows of this kind written so far. */
  readonly rows: number
  readonly rowsAll: number
}

/** A move of the file `path` to the PostgreSQL database `url`. */
export interface MoveRequest {
  readonly path: string
  readonly url: string
  /** Rows per INSERT; depends on the table by default. */
  readonly rowsAtOnce?: number
  /** Aborts the move. The database then stays empty. */
  readonly signal: AbortSignal
  /** Makes an id for the store, which the file and the database record. */
  readonly newId: () => string
  readonly nowMs: () => number
  /** Called after every statement. */
  readonly progress: (progress: MoveProgress) => void
}

/**
 * The result of a move.
 *
 * - `moved`: everything was moved and compared; no process can deliver from the file any more
 * - `already`: an earlier run has moved the store
 * - `interrupted`: the move was aborted, and the database is empty
 * - `different`: the database stored different values than it was given, so the move was undone
 */
export type MoveOutcome =
  | { readonly kind: 'moved' | 'already'; readonly place: string; readonly figures: Compared }
  | { readonly kind: 'interrupted'; readonly place: string }
  | {
      readonly kind: 'different'
      readonly place: string
      readonly figures: Compared
      /** The columns with different values, as in `deliveries: lane`. */
      readonly columns: readonly string[]
    }

type Compared = readonly ComparedFigure[]

/**
 * Moves a store from a file into a database, in one transaction. Marks the file as moved right before the commit, so
 * that no process can ever deliver from both.
 */
export async function moveStore(request: MoveRequest): Promise<MoveOutcome> {
  const target = new PostgresImport(request.url, { isReadOnly: false })
  return between(SqliteExport.open(request.path), target, async (source) => {
    await target.makeTables()
    return move(source, target, request)
  })
}

/** Where a move would go, and what it would move. */
export interface MovePlan {
  /** The new database, without user and password. */
  readonly place: string
  readonly figures: StoreFigures
  /** Whether an earlier run has already moved the store. */
  readonly isMoved: boolean
}

/** Plans a move, and changes nothing. */
export async function planMove({
  path,
  url,
}: Pick<MoveRequest, 'path' | 'url'>): Promise<MovePlan> {
  const target = new PostgresImport(url, { isReadOnly: true })
  return between(SqliteExport.look(path), target, async (source) => {
    const isMoved = await target.has(source.move)
    return { place: target.place, figures: source.figures(), isMoved }
  })
}

/** Runs work on a file and a database, then closes both. */
async function between<Result>(
  opening: Promise<SqliteExport>,
  target: PostgresImport,
  work: (source: SqliteExport) => Promise<Result>,
): Promise<Result> {
  let source: SqliteExport | undefined
  try {
    source = await opening
    return await work(source)
  } finally {
    source?.close()
    await target.close()
  }
}

async function move(
  source: SqliteExport,
  target: PostgresImport,
  request: MoveRequest,
): Promise<MoveOutcome> {
  const isMoved = await target.has(source.move)
  const { place } = target
  // Count before the transaction begins, because the server ends transactions that stay idle for too long.
  const ofSource = source.figures()
  const work = async (session: Session): Promise<MoveOutcome> => {
    const columns = await writeRows(source, session, { ...request, figures: ofSource })
    if (columns === undefined) return { kind: 'interrupted', place }
    const figures = compareFigures(ofSource, await figuresIn(session))
    if (columns.length > 0 || figures.some((figure) => figure.source !== figure.target)) {
      return { kind: 'different', place, figures, columns }
    }
    const storeId = source.move?.storeId ?? request.newId()
    await complete(session, { storeId, idsGiven: source.idsGiven, nowMs: request.nowMs() })
    source.mark({ storeId, target: place })
    return { kind: 'moved', place, figures }
  }
  const outcome = isMoved ? undefined : await target.fill(source, work)
  if (outcome !== undefined) return outcome
  return { kind: 'already', place, figures: compareFigures(ofSource, await target.figures()) }
}

/** Writes all rows. Returns the columns whose values the database changed; undefined if interrupted. */
async function writeRows(
  source: SqliteExport,
  session: Session,
  { signal, progress, rowsAtOnce, figures }: MoveRequest & { readonly figures: StoreFigures },
): Promise<readonly string[] | undefined> {
  const different = new Set<string>()
  for (const table of movedTables) {
    const { title } = table
    let rows = 0
    for (const some of source.rows(table, rowsAtOnce)) {
      if (signal.aborted) return undefined
      for (const name of await insertRows(session, table, some)) {
        different.add(`${title}: ${name}`)
      }
      rows += some.length
      progress({ title, rows, rowsAll: figures.kinds[title] ?? 0 })
    }
  }
  return signal.aborted ? undefined : [...different]
}
