import { plainText, recordLine } from '../../model/index.ts'
import { createRuntime, stopwatch } from '../../runtime/index.ts'
import {
  migrateStore,
  planMigration,
  type MigrationPlaces,
  type MoveOutcome,
  type MoveProgress,
  type ComparedFigure,
  type MovePlan,
} from '../../store/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import { startProgress } from '../output/progress.ts'
import type { CommandOutput } from '../output/style.ts'
import { textTable, type TableColumn } from '../output/table.ts'

interface MigrateRun extends CommandOutput {
  readonly stores: MigrationPlaces
}

/** Migrates a store and shows the progress. Then prints the row counts of the file and of the database. */
export async function migrate(run: MigrateRun): Promise<ExitCode> {
  const { io, stores } = run
  const elapsedMs = stopwatch()
  const { newId, clock } = createRuntime()
  const format = progressFormat(elapsedMs)
  let line = 'looking at the file and the database'
  const endProgress = startProgress(io, () => line, { color: run.color, quiet: false })
  try {
    const outcome = await migrateStore({
      ...stores,
      // Keep migrating even if stdout is closed.
      signal: io.interrupted,
      newId,
      nowMs: () => clock.nowMs(),
      progress: (progress) => (line = format(progress)),
    })
    endProgress()
    return await report(outcome, run, elapsedMs())
  } finally {
    endProgress()
  }
}

/** Shows what a migration would move. */
export async function planMigrate(run: MigrateRun): Promise<ExitCode> {
  const { io, stores } = run
  const plan = await planMigration(stores)
  if (run.json) {
    await writeData(io, recordLine(planRecord(plan)))
    return exitCodes.ok
  }
  const rows = Object.entries(plan.figures.kinds).map(([what, source]) => ({ what, source }))
  await writeData(io, textTable(rows, fileColumns, run))
  const all = countOf(
    rows.reduce((sum, { source }) => sum + source, 0),
    'row',
  )
  note(
    run,
    `${all} ${plan.isMoved ? 'already moved' : 'would move'} from ${plainText(stores.from)} to ${plan.place}`,
  )
  return exitCodes.ok
}

async function report(
  outcome: MoveOutcome,
  run: MigrateRun,
  durationMs: number,
): Promise<ExitCode> {
  const { io, json } = run
  if (json) await writeData(io, recordLine(outcomeRecord(outcome, durationMs)))
  else if (outcome.kind !== 'interrupted') {
    await writeData(io, textTable(outcome.figures, [...fileColumns, databaseColumn], run))
  }
  const [from, to] = [plainText(run.stores.from), plainText(outcome.place)]
  switch (outcome.kind) {
    case 'moved':
      note(run, `Moved ${from} to ${to}: every row arrived.`)
      note(
        run,
        'No process can deliver from the file any more. From now on, pass the database as --store.',
      )
      return exitCodes.ok
    case 'already':
      note(run, `${from} has already been moved to ${to}; there is nothing left to do.`)
      return exitCodes.ok
    case 'interrupted':
      note(run, `Interrupted: ${to} is still empty. Run the same command again to start over`)
      return exitCodes.interrupted
    case 'different':
      for (const column of outcome.columns) note(run, `Different: ${column}`)
      note(
        run,
        `The move was undone: ${to} stored values that differ from those in ${from}. Please report this, with the lines above`,
      )
      return exitCodes.internal
  }
}

function note({ io, json }: MigrateRun, text: string): void {
  if (!json) io.stderr.write(`${text}\n`)
}

const fileColumns: readonly TableColumn<Pick<ComparedFigure, 'what' | 'source'>>[] = [
  { title: 'rows', text: ({ what }) => what, look: 'name' },
  { title: 'file', text: ({ source }) => formatCount(source), isCount: true },
]

const databaseColumn: TableColumn<ComparedFigure> = {
  title: 'database',
  text: ({ target }) => formatCount(target),
  look: ({ source, target }) => (source === target ? 'good' : 'bad'),
  isCount: true,
}

function outcomeRecord(
  outcome: MoveOutcome,
  durationMs: number,
): Readonly<Record<string, unknown>> {
  const { kind, place: to } = outcome
  return {
    kind: 'migrated',
    outcome: kind,
    to,
    ms: Math.round(durationMs),
    ...('figures' in outcome ? { figures: outcome.figures } : {}),
    ...('columns' in outcome ? { columns: outcome.columns } : {}),
  }
}

function planRecord({ place: to, figures, isMoved }: MovePlan): Readonly<Record<string, unknown>> {
  return { kind: 'migrated', outcome: 'planned', to, moved: isMoved, ...figures }
}

/** Returns a function that formats the progress: `moving deliveries: 120,000 of 200,000 · 41,230/s`. */
export function progressFormat(elapsedMs: () => number): (progress: MoveProgress) => string {
  /** The time and the row count when the current kind of rows began. */
  let from = { title: '', atMs: 0, rows: 0 }
  return ({ title, rows, rowsAll }) => {
    const atMs = elapsedMs()
    if (title !== from.title) from = { title, atMs, rows }
    const done = `moving ${title}: ${formatCount(rows)} of ${formatCount(rowsAll)}`
    const seconds = (atMs - from.atMs) / 1_000
    const rate = Math.round((rows - from.rows) / seconds)
    return seconds > 0 ? `${done} · ${formatCount(rate)}/s` : done
  }
}
