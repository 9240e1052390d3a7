import type { Move } from '../sqlite/moves.ts'
import { movedTables } from './moved-tables.ts'
import { PostgresImport, type MoveTarget } from './postgres-import.ts'
import { SqliteExport } from './sqlite-export.ts'
import { compareFigures, type ComparedFigure, type StoreFigures } from './store-figures.ts'

/** How far a move has come. */
export interface MoveProgress {
  /** What people call the rows that are written. */
  readonly title: string
  /** Rows of that kind that are written. */
  readonly rows: number
  /** Rows of that kind. */
  readonly rowsAll: number
}

/** A store, and where it moves to. */
export interface MoveRequest {
  /** The file of the store. */
  readonly path: string
  /** The URL of the database. */
  readonly url: string
  /** Rows that are written at once; what suits their table by default. */
  readonly rowsAtOnce?: number
  /** Ends the move: nothing is in the database then. */
  readonly signal: AbortSignal
  /** Makes the id by which the database knows the store. */
  readonly newId: () => string
  /** Now, in milliseconds since 1970. */
  readonly nowMs: () => number
  /** Is called after every statement. */
  readonly progress: (progress: MoveProgress) => void
}

/**
 * The result of a move.
 *
 * - `moved`: all is there and was compared; no process can deliver from the file any more
 * - `already`: an earlier run has done so
 * - `interrupted`: nothing is there
 * - `different`: the database did not store what it was given. Nothing is there
 */
export type MoveOutcome =
  | { readonly kind: 'moved' | 'already'; readonly place: string; readonly figures: Compared }
  | { readonly kind: 'interrupted'; readonly place: string }
  | {
      readonly kind: 'different'
      readonly place: string
      readonly figures: Compared
      /** The columns whose values are others, as in `deliveries: lane`. */
      readonly columns: readonly string[]
    }

type Compared = readonly ComparedFigure[]

/**
 * Moves a store from a file into a database, in one transaction. It can be interrupted or killed at any
 * moment; the next run begins anew.
 *
 * At the end the file is marked as moved, right before the transaction commits: at no moment could a
 * process deliver from both.
 *
 * @throws EvrouteError `store_in_use`, `store_unusable`
 */
export async function moveStore(request: MoveRequest): Promise<MoveOutcome> {
  const source = await SqliteExport.open(request.path, request.newId)
  try {
    const target = await PostgresImport.open(request.url)
    try {
      return await move(source, target, request)
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/** What a move would do. */
export interface MovePlan {
  /** Where the store would go. */
  readonly place: string
  /** What is in the file. */
  readonly figures: StoreFigures
  /** Whether it was moved already. */
  readonly isMoved: boolean
}

/**
 * Tells what a move would do, and changes nothing.
 *
 * @throws EvrouteError `store_unusable` where it would not begin
 */
export async function planMove({
  path,
  url,
}: Pick<MoveRequest, 'path' | 'url'>): Promise<MovePlan> {
  const source = await SqliteExport.look(path)
  try {
    const target = PostgresImport.connectToLook(url)
    try {
      const state = await target.look(source.move)
      return { place: target.place, figures: source.figures(), isMoved: state === 'completed' }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

async function move(
  source: SqliteExport,
  target: PostgresImport,
  request: MoveRequest,
): Promise<MoveOutcome> {
  const { place } = target
  const begun = source.move as Move
  const state = await target.begin(begun, source.requestDays)
  const ofSource = source.figures()
  if (state === 'completed') {
    source.noteTarget(place)
    return { kind: 'already', place, figures: compareFigures(ofSource, await target.figures()) }
  }
  // Before the transaction: the server ends one in which it is not asked for long.
  const sums = source.sums()
  const { idsGiven } = source
  let outcome: MoveOutcome = { kind: 'interrupted', place }
  const work = async (stored: MoveTarget): Promise<boolean> => {
    if (!(await writeRows(source, stored, { ...request, figures: ofSource }))) return false
    const figures = compareFigures(ofSource, await stored.figures())
    const columns = differentColumns(sums, await stored.sums())
    const isEqual = columns.length === 0 && figures.every(({ source: a, target: b }) => a === b)
    if (isEqual) source.noteTarget(place)
    outcome = isEqual
      ? { kind: 'moved', place, figures }
      : { kind: 'different', place, figures, columns }
    return isEqual
  }
  await target.complete(work, { move: begun, idsGiven, nowMs: request.nowMs() })
  return outcome
}

/** Writes all rows; false where it was interrupted. */
async function writeRows(
  source: SqliteExport,
  target: MoveTarget,
  { signal, progress, rowsAtOnce, figures }: MoveRequest & { readonly figures: StoreFigures },
): Promise<boolean> {
  for (const [index, table] of movedTables.entries()) {
    const rowsAll = figures.rows[index]?.rows ?? 0
    let rows = 0
    for (const some of source.rows({ ...table, rowsAtOnce: rowsAtOnce ?? table.rowsAtOnce })) {
      if (signal.aborted) return false
      await target.write(table, some)
      rows += some.length
      progress({ title: table.title, rows, rowsAll })
    }
  }
  return !signal.aborted
}

function differentColumns(
  source: readonly Readonly<Record<string, number>>[],
  target: readonly Readonly<Record<string, number>>[],
): readonly string[] {
  return movedTables.flatMap(({ title, columns }, index) =>
    columns
      .filter(({ name }) => source[index]?.[name] !== target[index]?.[name])
      .map(({ name }) => `${title}: ${name}`),
  )
}
