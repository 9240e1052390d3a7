import type { AudienceSyncOutcome, AudienceRemoveOutcome } from '../../admin-api/index.ts'
import {
  syncRecord,
  removalRecord,
  changeRecord,
  noSyncCounts,
  type ComputationClass,
  type MembershipChange,
  type RejectedRow,
  type SyncCounts,
  type SyncListener,
  type SyncOutcome,
  type MemberIdentity,
} from '../../audience/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import type { SyncValues } from '../commands/audience.ts'
import {
  codeOfEnd,
  isOutputClosed,
  unlessEnded,
  exitCodes,
  gravest,
  type ExitCode,
} from '../exit-code.ts'
import { openListInput } from '../input.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { drained, finishWork, type AudiencesRun } from '../store-access/operations.ts'
import { refusalError } from './refusal.ts'

/** The outcome of a sync that got far enough to have counts. */
type CountedOutcome = Exclude<SyncOutcome, { kind: 'taken' }>

/** Syncs the members of an audience with a list, reports the changes, and delivers the calls about them. */
export async function syncList(values: SyncValues, run: AudiencesRun): Promise<ExitCode> {
  const { audiences, io } = run
  const report = new SyncReport(values, run)
  run.showProgress(() => report.parts)
  const list = await openListInput(values.file, io)
  const { name, key, computationClass, source: sourceId, userIds, value, isDryRun } = values
  const columns = { userIds, value }
  const outcome = await unlessEnded(
    audiences.sync(
      {
        ...{ name, key, computationClass, sourceId, columns, isDryRun },
        ...{ listener: report, drained: () => drained(run), signal: io.stop },
      },
      list,
    ),
    io,
  )
  const code = outcome === undefined ? report.cut() : report.end(counted(outcome, values))
  return finish({ code, outcome, isDryRun }, run)
}

interface EndedChange {
  readonly code: ExitCode
  readonly outcome: { readonly kind: string } | undefined
  readonly isDryRun: boolean
}

/** Delivers the calls about a change, except after a dry run, or if the service was ending and keeps them. */
async function finish(
  { code, outcome, isDryRun }: EndedChange,
  run: AudiencesRun,
): Promise<ExitCode> {
  await drained(run)
  const isLeft = run.offline === undefined && outcome?.kind === 'ended'
  return isDryRun || isLeft ? code : gravest([code, await finishWork(run)])
}

function counted(outcome: AudienceSyncOutcome, command: SyncValues): CountedOutcome {
  if ('counts' in outcome) return outcome
  throw refusalError(outcome, command)
}

class SyncReport implements SyncListener {
  readonly #command: SyncValues
  readonly #run: AudiencesRun
  #counts = noSyncCounts
  #compared = 0

  constructor(command: SyncValues, run: AudiencesRun) {
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

  end(outcome: CountedOutcome): ExitCode {
    const { report, json, stdout, io } = this.#run
    const { isDryRun } = this.#command
    const { audience, counts, kind } = outcome
    const key = plainText(audience.key)
    if (json) stdout.write(recordLine(syncRecord(outcome, { isDryRun })))
    // A dry run writes its changes to stdout. If the reader closes it, the sync stops and the counts are
    // incomplete.
    else if (isDryRun && !isOutputClosed(io)) {
      report.note(`Dry run of ${key}: ${countsText(counts)}`)
    } else if (!isDryRun) stdout.write(`${this.#run.style.name(key)}: ${countsText(counts)}\n`)
    const code = counts.rejected > 0 ? exitCodes.badInput : exitCodes.ok
    switch (kind) {
      case 'synced':
        return code
      case 'incomplete':
        if (!json)
          report.note('No member was removed, because a rejected row may be about any of them')
        return code
      case 'superseded':
        report.note(`A newer sync of ${key} has begun, so this one stopped`)
        return exitCodes.cannotUse
      case 'ended':
        return gravest([code, this.#interrupted()])
    }
  }

  /** Reports how far the sync got before it was interrupted. */
  cut(): ExitCode {
    const { json, stdout } = this.#run
    const dryRun = this.#command.isDryRun
    const record = { kind: 'sync', outcome: 'ended', dryRun, audience: null, ...this.#counts }
    if (json) stdout.write(recordLine(record))
    return this.#interrupted()
  }

  #interrupted(): ExitCode {
    const { isDryRun } = this.#command
    const { stop } = this.#run.io
    const what = stop.aborted
      ? `Interrupted after ${countOf(this.#counts.read, 'row')}`
      : 'The service ended the sync early'
    return interrupted(what, isDryRun, this.#run)
  }
}

/** Reports that a change ended early. @returns 0 if only the reader of the output has left */
function interrupted(what: string, isDryRun: boolean, { io, report }: AudiencesRun): ExitCode {
  const code = codeOfEnd(io)
  if (io.stop.aborted && code === exitCodes.ok) return code
  const kept = '. The changes so far are kept; run the same command again to continue'
  report.note(`${what}${isDryRun ? '' : kept}`)
  return io.stop.aborted ? code : exitCodes.cannotUse
}

/**
 * Formats the counts of a sync, such as `1,204 entered, 3 changed, 17 left, 88,000 unchanged (2 rejected)`.
 */
function countsText(counts: SyncCounts): string {
  const { entered, changed, left, unchanged, rejected, suppressed } = counts
  const shown = Object.entries({ entered, changed, left, unchanged }).map(countText)
  const others = Object.entries({ rejected, suppressed }).filter(([, count]) => count > 0)
  const aside = others.length === 0 ? '' : ` (${others.map(countText).join(', ')})`
  return `${shown.join(', ')}${aside}`
}

/**
 * Formats the progress of a sync, as parts of a line.
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
  return [countOf(read, 'row'), ...changes.map(countText), `${formatCount(rate)}/s`]
}

function countText([name, count]: readonly [string, number]): string {
  return `${formatCount(count)} ${name}`
}

interface RemoveCommand {
  readonly key: string
  readonly isDryRun: boolean
}

type BegunRemoval = Extract<AudienceRemoveOutcome, { readonly left: number }>

/** Removes every member of an audience, delivers the calls about it, and deletes the audience. */
export async function removeMembers(command: RemoveCommand, run: AudiencesRun): Promise<ExitCode> {
  const { audiences, io } = run
  const { key, isDryRun } = command
  let left = 0
  run.showProgress(() => [`${formatCount(left)} left`])
  const removal = audiences.remove({
    key,
    isDryRun,
    listener: {
      rejected: () => undefined,
      changed: (changes) => {
        // A member who leaves has no value, even in a computed trait.
        if (isDryRun) tellChanges(changes, 'audience', run)
      },
      progress: (counts) => (left = counts.left),
    },
    drained: () => drained(run),
    signal: io.stop,
  })
  const outcome = await unlessEnded(removal, io)
  const code =
    outcome === undefined
      ? interrupted('Ended early', isDryRun, run)
      : tell(begun(outcome, key), command, run)
  return finish({ code, outcome, isDryRun }, run)
}

function begun(outcome: AudienceRemoveOutcome, key: string): BegunRemoval {
  if ('left' in outcome) return outcome
  throw refusalError(outcome, { key })
}

function tell(outcome: BegunRemoval, command: RemoveCommand, run: AudiencesRun): ExitCode {
  const { isDryRun } = command
  const { json, stdout, style, report, io } = run
  const key = plainText(outcome.audience.key)
  const left = `${formatCount(outcome.left)} left`
  if (json) stdout.write(recordLine(removalRecord(outcome, { isDryRun })))
  else if (isDryRun && !isOutputClosed(io)) report.note(`Dry run of removing ${key}: ${left}`)
  switch (outcome.kind) {
    case 'removed':
      if (!json && !isDryRun) stdout.write(`${style.name(key)}: ${left}, removed\n`)
      return exitCodes.ok
    case 'superseded':
      report.note(`A sync of ${key} has begun, so it was not removed`)
      return exitCodes.cannotUse
    case 'ended':
      return interrupted('Ended early', isDryRun, run)
  }
}

/** Writes the changes that a dry run found, as records or lines. */
function tellChanges(
  changes: readonly MembershipChange[],
  computationClass: ComputationClass,
  { json, stdout, style }: Pick<AudiencesRun, 'json' | 'stdout' | 'style'>,
): void {
  const lines = changes.map((change) =>
    json ? recordLine(changeRecord(change)) : changeText(change, computationClass, style),
  )
  stdout.write(lines.join(''))
}

/** Formats a change as one line: `+ u_1`, `- u_2`, `~ u_3 450`. */
function changeText(
  { identity, value }: MembershipChange,
  computationClass: ComputationClass,
  style: Style,
): string {
  const who = identityText(identity)
  if (value === null) return `${style.bad('-')} ${who}\n`
  if (computationClass === 'audience') return `${style.good('+')} ${who}\n`
  return `${style.warning('~')} ${who} ${plainText(value)}\n`
}

/** Formats all identifiers of a member on one line. */
function identityText({ userId, anonymousId, email }: MemberIdentity): string {
  const anonymous = anonymousId === null ? [] : [`anonymous ${anonymousId}`]
  const [first = '', ...others] = [
    ...(userId === null ? [] : [userId]),
    ...anonymous,
    ...(email === null ? [] : [email]),
  ].map(plainText)
  return others.length === 0 ? first : `${first} (${others.join(', ')})`
}
