import {
  syncRecord,
  type ComputationClass,
  type MemberColumns,
  type MembershipChange,
  type RejectedRow,
  type SyncCounts,
  type SyncListener,
  type SyncOutcome,
} from '../../audience/index.ts'
import type { AudienceSyncOutcome } from '../../admin-api/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import {
  codeOfEnd,
  isOutputClosed,
  unlessEnded,
  exitCodes,
  gravest,
  type ExitCode,
} from '../exit-code.ts'
import { openListInput } from '../input.ts'
import { drained, finishWork, type AudiencesRun } from '../store-access/operations.ts'
import { formatCount } from '../output/numbers.ts'
import { tellChanges } from './change-text.ts'
import { refusalError } from './refusal.ts'

/** The audience to sync, and its list. */
export interface SyncCommand {
  /** The display name. Either a name or a key is given. */
  readonly name: string | undefined
  /** The property of the identify calls. */
  readonly key: string | undefined
  readonly computationClass: ComputationClass
  /** The file with the list, `-` for stdin. */
  readonly file: string
  /** The source whose destinations get the calls. */
  readonly source: string | undefined
  /** The columns of the list. */
  readonly columns: MemberColumns
  /** Only show what would change. */
  readonly isDryRun: boolean
}

/** A sync that got far enough to have counts. */
type CountedOutcome = Exclude<SyncOutcome, { kind: 'taken' }>

const noCounts: SyncCounts = {
  read: 0,
  rejected: 0,
  entered: 0,
  changed: 0,
  left: 0,
  unchanged: 0,
  suppressed: 0,
}

/**
 * Syncs the members of an audience with a list, reports the changes, and delivers the calls about them.
 *
 * @throws EvrouteError if the list cannot be read or the sync cannot begin
 */
export async function syncList(command: SyncCommand, run: AudiencesRun): Promise<ExitCode> {
  const { audiences, io, offline } = run
  const told = new ToldSync(command, run)
  run.showProgress(() => told.parts)
  const list = await openListInput(command.file, io)
  const { name, key, computationClass, source: sourceId, columns, isDryRun } = command
  const outcome = await unlessEnded(
    audiences.sync(
      {
        ...{ name, key, computationClass, sourceId, columns, isDryRun },
        listener: told,
        drained: () => drained(run),
        signal: io.stop,
      },
      list,
    ),
    io,
  )
  const code = outcome === undefined ? told.cut() : told.end(counted(outcome, command))
  await drained(run)
  // The service ended early and is about to stop.
  const isLeft = offline === undefined && outcome?.kind === 'ended'
  return isDryRun || isLeft ? code : gravest([code, await finishWork(run)])
}

function counted(outcome: AudienceSyncOutcome, command: SyncCommand): CountedOutcome {
  if ('counts' in outcome) return outcome
  throw refusalError(outcome, command)
}

/** Reports the progress and the outcome of a sync. */
class ToldSync implements SyncListener {
  readonly #command: SyncCommand
  readonly #run: AudiencesRun
  #counts = noCounts
  #compared = 0

  constructor(command: SyncCommand, run: AudiencesRun) {
    this.#command = command
    this.#run = run
  }

  rejected({ line, code, message }: RejectedRow): void {
    this.#run.report.rejected({ file: undefined, line }, { code, message })
  }

  changed(changes: readonly MembershipChange[]): void {
    const { computationClass, isDryRun } = this.#command
    if (isDryRun) tellChanges(changes, computationClass, this.#run)
  }

  comparing(members: number): void {
    this.#compared = members
  }

  progress(counts: SyncCounts): void {
    this.#counts = counts
  }

  /** The work done so far, as parts of a progress line. */
  get parts(): readonly string[] {
    const elapsedMs = this.#run.elapsedMs()
    return progressParts(this.#counts, { elapsedMs, compared: this.#compared })
  }

  /** Reports the outcome. */
  end(outcome: CountedOutcome): ExitCode {
    const { report, json, stdout, io } = this.#run
    const { isDryRun } = this.#command
    const { audience, counts, kind } = outcome
    const key = plainText(audience.key)
    if (json) stdout.write(recordLine(syncRecord(outcome, { isDryRun })))
    // The changes of a dry run go to stdout. If its reader leaves, the sync stops and the counts are
    // incomplete.
    else if (isDryRun && !isOutputClosed(io)) {
      report.note(`Dry run of ${key}: ${countsText(counts)}`)
    } else if (!isDryRun) stdout.write(`${this.#run.style.name(key)}: ${countsText(counts)}\n`)
    const code = counts.rejected > 0 ? exitCodes.badInput : exitCodes.ok
    switch (kind) {
      case 'synced':
        return code
      case 'incomplete':
        if (!json) report.note('Nobody left: whom the rejected rows are about is not known')
        return code
      case 'superseded':
        report.note(`Another sync of ${key} began meanwhile, so that this one ended`)
        return exitCodes.cannotUse
      case 'ended':
        return gravest([code, this.#interrupted()])
    }
  }

  /** Reports how far the sync came before it was interrupted. */
  cut(): ExitCode {
    const { json, stdout } = this.#run
    const dryRun = this.#command.isDryRun
    const record = { kind: 'sync', outcome: 'ended', dryRun, audience: null, ...this.#counts }
    if (json) stdout.write(recordLine(record))
    return this.#interrupted()
  }

  #interrupted(): ExitCode {
    const { io, report, offline } = this.#run
    const code = codeOfEnd(io)
    if (code === exitCodes.interrupted) {
      const next = this.#command.isDryRun
        ? ''
        : '; what is done stays, and the same command goes on'
      report.note(`Interrupted after ${rowsText(this.#counts.read)}${next}`)
    } else if (!io.stop.aborted && offline === undefined) {
      report.note(
        'The service ended the sync early; what is done stays, and the same command goes on',
      )
      return exitCodes.cannotUse
    }
    return code
  }
}

/** The counts of a sync, for a person: `1,204 entered, 3 changed, 17 left, 88,000 unchanged (2 rejected)`. */
export function countsText(counts: SyncCounts): string {
  const { entered, changed, left, unchanged, rejected, suppressed } = counts
  const shown = Object.entries({ entered, changed, left, unchanged }).map(countText)
  const others = Object.entries({ rejected, suppressed }).filter(([, count]) => count > 0)
  const aside = others.length === 0 ? '' : ` (${others.map(countText).join(', ')})`
  return `${shown.join(', ')}${aside}`
}

/**
 * The progress of a sync, as parts of a line.
 *
 * @param compared - members that a dry run has read from the store and compared with the list
 */
export function progressParts(
  counts: SyncCounts,
  { elapsedMs, compared }: { readonly elapsedMs: number; readonly compared: number },
): readonly string[] {
  const { read, entered, changed, left } = counts
  if (read === 0 && compared > 0) return [`comparing with ${formatCount(compared)} members`]
  const rate = Math.round(read / (Math.max(elapsedMs, 1) / 1_000))
  const changes = Object.entries({ entered, changed, left }).filter(([, count]) => count > 0)
  return [rowsText(read), ...changes.map(countText), `${formatCount(rate)}/s`]
}

/** The number of rows read: `1 row`, `1,204 rows`. */
function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${formatCount(count)} rows`
}

function countText([name, count]: readonly [string, number]): string {
  return `${formatCount(count)} ${name}`
}
