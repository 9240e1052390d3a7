import type { AudienceRemoveOutcome } from '../../admin-api/index.ts'
import { removalRecord } from '../../audience/index.ts'
import { plainText, recordLine } from '../../model/index.ts'
import {
  codeOfEnd,
  isOutputClosed,
  unlessEnded,
  exitCodes,
  gravest,
  type ExitCode,
} from '../exit-code.ts'
import { formatCount } from '../output/numbers.ts'
import { drained, finishWork, type AudiencesRun } from '../store-access/operations.ts'
import { tellChanges } from './change-text.ts'
import { refusalError } from './refusal.ts'

/** The audience to remove. */
export interface RemoveCommand {
  readonly key: string
  /** Only show who would leave. */
  readonly isDryRun: boolean
}

/** A removal that has begun. */
type BegunRemoval = Extract<AudienceRemoveOutcome, { readonly left: number }>

/**
 * Removes every member of an audience, delivers the calls about it, and deletes the audience.
 *
 * @throws EvrouteError if the audience does not exist or the removal cannot begin
 */
export async function removeMembers(command: RemoveCommand, run: AudiencesRun): Promise<ExitCode> {
  const { audiences, io, offline } = run
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
  const code = outcome === undefined ? interrupted(run) : tell(begun(outcome, key), command, run)
  await drained(run)
  // The service ended early and is about to stop.
  const isLeft = offline === undefined && outcome?.kind === 'ended'
  return isDryRun || isLeft ? code : gravest([code, await finishWork(run)])
}

function begun(outcome: AudienceRemoveOutcome, key: string): BegunRemoval {
  if ('left' in outcome) return outcome
  throw refusalError(outcome, { key })
}

function tell(outcome: BegunRemoval, { isDryRun }: RemoveCommand, run: AudiencesRun): ExitCode {
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
      report.note(`A sync of ${key} began meanwhile, so that it is not removed`)
      return exitCodes.cannotUse
    case 'ended':
      return interrupted(run)
  }
}

function interrupted({ io, report }: AudiencesRun): ExitCode {
  const code = codeOfEnd(io)
  if (io.stop.aborted && code === exitCodes.ok) return code
  report.note('Ended early: who has left stays out, and the same command goes on')
  return io.stop.aborted ? code : exitCodes.cannotUse
}
