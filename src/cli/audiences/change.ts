import type { AudienceRemoveOutcome } from '../../admin-api/index.ts'
import {
  syncRecord,
  removalRecord,
  changeRecord,
  noSyncCounts,
  type ComputationClass,
  type MembershipChange,
  type SyncCounts,
  type SyncListener,
  type SyncOutcome,
  type MemberIdentity,
} from '../../audience/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import type { SyncValues } from '../commands/audience.ts'
import { isOutputClosed, unlessEnded, exitCodes, gravest, type ExitCode } from '../exit-code.ts'
import { openInputOf } from '../input.ts'
import { countOf, formatCount } from '../output/numbers.ts'
import type { Style } from '../output/style.ts'
import { finishWork, type OperationsRun } from '../store-access/operations.ts'
import { refusalError } from './refusal.ts'

/** Syncs the members of an audience with a list, reports the changes, and delivers the calls about the changes. */
export async function syncList(values: SyncValues, run: OperationsRun): Promise<ExitCode> {
  const { audiences, io, report, isDryRun } = run
  const { name, key, computationClass, source: sourceId, userIds, value } = values
  let [counts, compared] = [noSyncCounts, 0]
  run.showProgress(() => progressParts(counts, { elapsedMs: run.elapsedMs(), compared }))
  const list = await openInputOf(values.file, io)
  const listener: SyncListener = {
    rejected: (row) => report.rejected(row, row),
    changed: (changes) => {
      if (isDryRun) tellChanges(changes, computationClass, run)
    },
    comparing: (members) => (compared = members),
    progress: (soFar) => (counts = soFar),
  }
  const request = {
    ...{ name, key, computationClass, sourceId, columns: { userIds, value }, isDryRun },
    ...{ listener, drained: () => run.stdout.ready(), signal: io.stop },
  }
  const outcome = await unlessEnded(audiences.sync(request, list), io)
  if (outcome !== undefined && !('counts' in outcome)) throw refusalError(outcome, values)
  const code = outcome === undefined ? tellEnd(counts, run) : tellSync(outcome, run)
  return finish(code, outcome?.kind, run)
}

/**
 * Delivers the calls about a change, or says that the service delivers them. Does neither after a dry run, or if the
 * service ended the change early.
 */
async function finish(
  code: ExitCode,
  outcome: string | undefined,
  run: OperationsRun,
): Promise<ExitCode> {
  await run.stdout.ready()
  const isLeft = run.offline === undefined && outcome === 'ended'
  return run.isDryRun || isLeft ? code : gravest([code, await finishWork(run)])
}

function tellSync(outcome: Exclude<SyncOutcome, { kind: 'taken' }>, run: OperationsRun): ExitCode {
  const { report, json, stdout, io, style, isDryRun } = run
  const { audience, counts, kind } = outcome
  const key = plainText(audience.key)
  const hadNoMembers = counts.left === 0 && audience.members === counts.entered
  const text = `${countsText(counts)}${hadNoMembers ? '; it is new or was empty' : ''}`
  if (json) stdout.write(recordLine(syncRecord(outcome, { isDryRun })))
  else if (!isDryRun) stdout.write(`${style.name(key)}: ${text}\n`)
  // A closed stdout ended the dry run early, so its counts are incomplete.
  else if (!isOutputClosed(io)) report.note(`Dry run of ${key}: ${text}`)
  const code = counts.rejected > 0 ? exitCodes.badInput : exitCodes.ok
  switch (kind) {
    case 'synced':
      return code
    case 'incomplete':
      if (!json)
        report.note('No member was removed, because a rejected row may be about any member')
      return code
    case 'superseded':
      report.note(`A newer sync of ${key} has begun, so this one stopped`)
      return exitCodes.cannotUse
    case 'ended':
      return gravest([code, interruptedSync(counts, run)])
  }
}

function tellEnd(counts: SyncCounts, run: OperationsRun): ExitCode {
  const record = { kind: 'sync', outcome: 'ended', dryRun: run.isDryRun, audience: null, ...counts }
  if (run.json) run.stdout.write(recordLine(record))
  return interruptedSync(counts, run)
}

function interruptedSync({ read }: SyncCounts, run: OperationsRun): ExitCode {
  const what = run.io.stop.aborted
    ? `Interrupted after ${countOf(read, 'row')}`
    : 'The service ended the sync early'
  return interrupted(what, run)
}

/** Reports that a change ended early. If closed output ended a dry run, reports nothing and returns 0. */
function interrupted(what: string, { io, report, isDryRun }: OperationsRun): ExitCode {
  if (isDryRun && isOutputClosed(io)) return exitCodes.ok
  const kept = '. The changes so far are kept; run the same command again to continue'
  report.note(`${what}${isDryRun ? '' : kept}`)
  return io.stop.aborted ? exitCodes.interrupted : exitCodes.cannotUse
}

/** Formats the counts of a sync: `1,204 entered, 3 changed, 17 left, 88,000 unchanged (2 rejected)`. */
function countsText(counts: SyncCounts): string {
  const { entered, changed, left, unchanged, rejected, suppressed } = counts
  const shown = Object.entries({ entered, changed, left, unchanged }).map(countText)
  const others = Object.entries({ rejected, suppressed }).filter(([, count]) => count > 0)
  const aside = others.length === 0 ? '' : ` (${others.map(countText).join(', ')})`
  return `${shown.join(', ')}${aside}`
}

/** Formats the progress of a sync; `compared` is how many stored members a dry run has compared with the list. */
export function progressParts(
  counts: SyncCounts,
  { elapsedMs, compared }: { readonly elapsedMs: number; readonly compared: number },
): readonly string[] {
  const { read, entered, changed, left } = counts
  if (read === 0 && compared > 0) return [`comparing with ${countOf(compared, 'member')}`]
  const rate = Math.round(read / (Math.max(elapsedMs, 1) / 1_000))
  const changes = Object.entries({ entered, changed, left }).filter(([, count]) => count > 0)
  return [countOf(read, 'row'), ...changes.map(countText), `${formatCount(rate)}/s`]
}

function countText([name, count]: readonly [string, number]): string {
  return `${formatCount(count)} ${name}`
}

/** Removes every member of an audience, delivers the calls about them, and deletes the audience. */
export async function removeMembers(key: string, run: OperationsRun): Promise<ExitCode> {
  const { audiences, io, isDryRun } = run
  let left = 0
  run.showProgress(() => [`${formatCount(left)} removed`])
  const removal = audiences.remove({
    key,
    isDryRun,
    listener: {
      rejected: () => undefined,
      changed: (changes) => {
        if (isDryRun) tellChanges(changes, 'audience', run)
      },
      progress: (counts) => (left = counts.left),
    },
    drained: () => run.stdout.ready(),
    signal: io.stop,
  })
  const outcome = await unlessEnded(removal, io)
  if (outcome !== undefined && !('left' in outcome)) throw refusalError(outcome, { key })
  const code = outcome === undefined ? interrupted('Ended early', run) : tellRemoval(outcome, run)
  return finish(code, outcome?.kind, run)
}

function tellRemoval(
  outcome: Extract<AudienceRemoveOutcome, { readonly left: number }>,
  run: OperationsRun,
): ExitCode {
  const { json, stdout, style, report, io, isDryRun } = run
  const key = plainText(outcome.audience.key)
  const left = countOf(outcome.left, 'member')
  if (json) stdout.write(recordLine(removalRecord(outcome, { isDryRun })))
  else if (isDryRun && !isOutputClosed(io)) report.note(`${key}: ${left} would be removed`)
  switch (outcome.kind) {
    case 'removed':
      if (!json && !isDryRun) stdout.write(`${style.name(key)}: ${left} removed\n`)
      return exitCodes.ok
    case 'superseded':
      report.note(
        `Stopped, because a sync of ${key} has begun. Run this command again after the sync`,
      )
      return exitCodes.cannotUse
    case 'ended':
      return interrupted('Ended early', run)
  }
}

function tellChanges(
  changes: readonly MembershipChange[],
  computationClass: ComputationClass,
  { json, stdout, style }: Pick<OperationsRun, 'json' | 'stdout' | 'style'>,
): void {
  const lines = changes.map((change) =>
    json ? recordLine(changeRecord(change)) : changeText(change, computationClass, style),
  )
  stdout.write(lines.join(''))
}

/** Formats a change as a line: `+ u_1`, `- u_2`, `~ u_3 450`. */
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

function identityText({ userId, anonymousId, email }: MemberIdentity): string {
  const anonymous = anonymousId === null ? null : `anonymous ${anonymousId}`
  const given = [userId, anonymous, email].filter((each) => each !== null)
  const [first = '', ...others] = given.map(plainText)
  return others.length === 0 ? first : `${first} (${others.join(', ')})`
}
