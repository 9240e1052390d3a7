import { plainText, recordLine } from '../../model/index.ts'
import { createRuntime, stopwatch } from '../../runtime/index.ts'
import {
  migrateStore,
  planMigration,
  type MigrationPlaces,
  type MoveOutcome,
  type MoveProgress,
} from '../../store/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData, type Io } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { startProgress } from '../output/progress.ts'
import { createStyle, wantsColor, type Style } from '../output/style.ts'
import { comparedTable, figuresTable } from './figures-table.ts'
import { outcomeRecord, planRecord } from './migration-records.ts'
import { ProgressText } from './progress-text.ts'

/** The migration that a command line asks for. */
export interface MigrateRun {
  /** The source and the target. */
  readonly places: MigrationPlaces
  /** Streams and stop signal. */
  readonly io: Io
  /** How the result is shown. */
  readonly view: {
    /** NDJSON records instead of text. */
    readonly json: boolean
    /** False with `--no-color`. */
    readonly color: boolean
  }
}

/**
 * Migrates a store, shows the progress, and compares both sides at the end.
 *
 * @throws SettingError for URLs of other engines; EvrouteError if one of the stores cannot be used
 */
export async function migrate(run: MigrateRun): Promise<ExitCode> {
  const { io, view, places } = run
  const elapsedMs = stopwatch()
  const { newId, clock } = createRuntime()
  const text = new ProgressText(elapsedMs)
  const endProgress = startProgress(io, () => text.line, {
    color: wantsColor(io, io.stderr, view.color),
    quiet: false,
  })
  try {
    const outcome = await migrateStore({
      ...places,
      // Keep migrating even if stdout is closed.
      signal: io.interrupted,
      newId,
      nowMs: () => clock.nowMs(),
      progress: (progress: MoveProgress) => text.update(progress),
    })
    endProgress()
    return await tell(outcome, run, elapsedMs())
  } finally {
    endProgress()
  }
}

/**
 * Shows what a migration would move.
 *
 * @throws the errors of {@link migrate}
 */
export async function planMigrate(run: MigrateRun): Promise<ExitCode> {
  const { io, view, places } = run
  const plan = await planMigration(places)
  if (view.json) {
    await writeData(io, recordLine(planRecord(plan)))
    return exitCodes.ok
  }
  await writeData(io, figuresTable(plan.figures, await tableView(run)))
  const rows = plan.figures.rows.reduce((sum, count) => sum + count.rows, 0)
  const are = plan.isMoved ? 'were moved' : 'would move'
  note(run, `${formatCount(rows)} rows ${are}: ${shownFrom(run)} to ${plan.place}`)
  return exitCodes.ok
}

async function tell(outcome: MoveOutcome, run: MigrateRun, durationMs: number): Promise<ExitCode> {
  const { io, view } = run
  if (view.json) await writeData(io, recordLine(outcomeRecord(outcome, durationMs)))
  else if (outcome.kind !== 'interrupted') {
    await writeData(io, comparedTable(outcome.figures, await tableView(run)))
  }
  const place = plainText(outcome.place)
  switch (outcome.kind) {
    case 'moved':
      note(run, `${shownFrom(run)} was moved to ${place}: every row is there.`)
      note(run, 'No process can deliver from the file any more; name the database with --store.')
      return exitCodes.ok
    case 'already':
      note(run, `${shownFrom(run)} was moved to ${place} before; nothing was left to do.`)
      return exitCodes.ok
    case 'interrupted':
      note(run, `Interrupted: nothing is in ${place}; the same command begins anew`)
      return exitCodes.interrupted
    case 'different':
      for (const column of outcome.columns) note(run, `Different: ${column}`)
      note(run, `${place} did not store what is in ${shownFrom(run)}; neither was changed`)
      return exitCodes.internal
  }
}

function shownFrom({ places }: MigrateRun): string {
  return plainText(places.from)
}

function note({ io, view }: MigrateRun, text: string): void {
  if (!view.json) io.stderr.write(`${text}\n`)
}

async function tableView({
  io,
  view,
}: MigrateRun): Promise<{ style: Style; columns: number | undefined }> {
  const columns = io.stdout.isTTY === true ? io.stdout.columns : undefined
  return { style: await createStyle(wantsColor(io, io.stdout, view.color)), columns }
}
