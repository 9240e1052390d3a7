import type { Move } from '../sqlite/moves.ts'
import { digestOf } from './page-digest.ts'
import type { Reached } from './move-standing.ts'
import { PostgresImport, type StoredStore } from './postgres-import.ts'
import type { Page, RowKind, RowPlace } from './row-kind.ts'
import { rowKinds } from './row-kinds.ts'
import { SqliteExport } from './sqlite-export.ts'
import { compareFigures, type ComparedFigure, type StoreFigures } from './store-figures.ts'

/** How far a move has come. */
export interface MoveProgress {
  /** What is done with the rows: they are written, then compared one by one. */
  readonly stage: 'moving' | 'comparing'
  /** What people call them. */
  readonly title: string
  /** Rows of that kind that are done. */
  readonly rows: number
  /** Rows of that kind. */
  readonly rowsAll: number
}

/** What is moved, and where to. */
export interface MoveRequest {
  /** The file of the store. */
  readonly path: string
  /** The URL of the database. */
  readonly url: string
  /** Rows in a page at the most; as many as suit their kind by default. */
  readonly pageRowsMax?: number
  /** Ends the move after the page that is under way. */
  readonly signal: AbortSignal
  /** Makes what the store is known by in the database. */
  readonly newId: () => string
  /** Now, in milliseconds since 1970. */
  readonly nowMs: () => number
  /** Is told after every page. */
  readonly progress: (progress: MoveProgress) => void
  /** Is told that what an earlier run has moved was of no use: the store was changed since. */
  readonly beganAnew: () => void
}

/**
 * What became of a move.
 *
 * - `moved`: all is there and was compared, row by row; nobody delivers from the file any more
 * - `already`: an earlier run has done so
 * - `interrupted`: what is there stays; the next run goes on
 * - `different`: what is there is not what is in the file. Neither can be taken for moved
 */
export type MoveOutcome =
  | { readonly kind: 'moved' | 'already'; readonly place: string; readonly figures: Compared }
  | { readonly kind: 'interrupted'; readonly place: string; readonly rows: MovedRows }
  | {
      readonly kind: 'different'
      readonly place: string
      readonly figures: Compared
      /** Which rows are different, where not the figures are. */
      readonly pages: readonly string[]
    }

type Compared = readonly ComparedFigure[]

/** How many rows are where they shall be. */
export interface MovedRows {
  /** Rows that were written. */
  readonly rows: number
  /** Rows that there are. */
  readonly rowsAll: number
}

/** A move under way. */
interface MoveParts {
  readonly source: SqliteExport
  readonly target: PostgresImport
  readonly request: MoveRequest
}

/**
 * Moves a store from a file into a database. It can end anywhere, be killed and run again: what was
 * written stays, and the next run goes on behind it.
 *
 * At the end the file is noted as moved, and only then the database as complete: at no moment could
 * somebody deliver from both.
 *
 * @throws EvrouteError `store_in_use`, `store_unusable`
 */
export async function moveStore(request: MoveRequest): Promise<MoveOutcome> {
  const source = await SqliteExport.open(request.path, request)
  try {
    const target = await PostgresImport.open(request.url)
    try {
      return await move({ source, target, request })
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
  /** How many rows are there already. */
  readonly moved: MovedRows
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
      const begun = await target.look(source.move)
      const rowsAll = sum(countRows(source))
      const rows = begun.kind === 'completed' ? rowsAll : reachedRows(source, begun.reached)
      return { place: target.place, figures: source.figures(), moved: { rows, rowsAll } }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

function reachedRows(source: SqliteExport, { kind: name, place }: Reached): number {
  const last = rowKinds.findIndex((kind) => kind.name === name)
  const counts = rowKinds
    .slice(0, last + 1)
    .map((kind, index) => source.count(kind, index === last ? place : null))
  return sum(counts)
}

async function move(parts: MoveParts): Promise<MoveOutcome> {
  const { source, target, request } = parts
  const { place } = target
  const begun = await target.begin(source.move as Move)
  if (begun.kind === 'completed') {
    source.noteTarget(place)
    const figures = compareFigures(source.figures(), await target.figures())
    return { kind: 'already', place, figures }
  }
  if (begun.isAnew) request.beganAnew()
  const rows = await moveRows(parts, begun.reached)
  if (rows.rows < rows.rowsAll) return { kind: 'interrupted', place, rows }
  return complete(parts, rows)
}

/** Reads a page while the one before it is written. */
async function moveRows({ source, target, request }: MoveParts, from: Reached): Promise<MovedRows> {
  const { signal, progress } = request
  const all = countRows(source)
  const rowsAll = sum(all)
  const first = rowKinds.findIndex(({ name }) => name === from.kind)
  let done = sum(all.slice(0, Math.max(first, 0)))
  for (const [index, kind] of rowKinds.entries()) {
    if (index < first) continue
    const after = index === first ? from.place : null
    let rows = after === null ? 0 : source.count(kind, after)
    for await (const page of writtenPages({ source, target, signal }, kind, after)) {
      rows += page.rows.length
      progress({ stage: 'moving', title: kind.title, rows, rowsAll: all[index] ?? 0 })
    }
    done += rows
    if (signal.aborted) break
  }
  return { rows: done, rowsAll }
}

async function* writtenPages(
  parts: {
    readonly source: SqliteExport
    readonly target: PostgresImport
    readonly signal: AbortSignal
  },
  kind: RowKind,
  from: RowPlace | null,
): AsyncGenerator<Page> {
  const { source, target, signal } = parts
  let page = source.page(kind, from)
  while (page.rows.length > 0 && !signal.aborted) {
    const written = target.write(page)
    // Read meanwhile; whether the page was written is told below.
    written.catch(() => undefined)
    const next = source.pageBehind(page)
    await written
    yield page
    page = next
  }
}

async function complete(parts: MoveParts, rows: MovedRows): Promise<MoveOutcome> {
  const { source, target, request } = parts
  const { place } = target
  const sourceFigures = source.figures()
  const counts = countRows(source)
  let outcome: MoveOutcome = { kind: 'interrupted', place, rows }
  const look = async (stored: StoredStore): Promise<boolean> => {
    const figures = compareFigures(sourceFigures, await stored.figures())
    const pages = await differentPages({ source, stored, counts }, request)
    if (pages === undefined) return false
    const isEqual = pages.length === 0 && figures.every(({ source: a, target: b }) => a === b)
    if (isEqual) source.noteTarget(place)
    // An earlier run that found no difference may have noted it.
    else if (source.move?.target != null) source.noteTarget(null)
    outcome = isEqual
      ? { kind: 'moved', place, figures }
      : { kind: 'different', place, figures, pages }
    return isEqual
  }
  await target.complete(look, { idsGiven: source.idsGiven, nowMs: request.nowMs() })
  return outcome
}

/** What is compared, in a transaction that the server ends where nobody asks anything for long. */
interface ComparedStores {
  readonly source: SqliteExport
  readonly stored: StoredStore
  /** Rows of each kind in the file, counted before: that takes long. */
  readonly counts: readonly number[]
}

/** Names the pages that are not what they are in the file; undefined where it was interrupted. */
async function differentPages(
  { source, stored, counts }: ComparedStores,
  { signal, progress }: MoveRequest,
): Promise<readonly string[] | undefined> {
  const different: string[] = []
  for (const [index, kind] of rowKinds.entries()) {
    const rowsAll = counts[index] ?? 0
    let rows = 0
    let page = source.page(kind, null)
    while (page.rows.length > 0) {
      if (signal.aborted) return undefined
      const asked = stored.page(page)
      asked.catch(() => undefined)
      const digest = digestOf(kind, page.rows)
      const next = source.pageBehind(page)
      const found = await asked
      if (found.rows !== page.rows.length || found.digest !== digest) different.push(nameOf(page))
      rows += page.rows.length
      progress({ stage: 'comparing', title: kind.title, rows, rowsAll })
      page = next
    }
  }
  return different
}

function countRows(source: SqliteExport): readonly number[] {
  return rowKinds.map((kind) => source.count(kind))
}

function nameOf({ kind, after, last }: Page): string {
  const from = after === null ? 'from the first' : `behind ${after.join(' ')}`
  return `${kind.title} ${from} up to ${last?.join(' ') ?? ''}`
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
