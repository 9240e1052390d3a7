import type { Command } from 'commander'
import type { Expectation, Match } from '../../match/index.ts'
import { SettingError } from '../../model/index.ts'
import { repeatable } from '../flags.ts'
import { reportFlag, type ReportFile } from './report-flag.ts'

/** The flags, from commander. */
export interface ExpectationFlags {
  /** `--expect` */
  readonly expect?: readonly string[]
  /** `--filter` */
  readonly filter?: string
  /** `--report` */
  readonly report?: readonly ReportFile[]
}

/** The parsed flags. */
export interface ExpectationSettings {
  readonly expectations: readonly Expectation[]
  /** Which requests are shown; undefined for all. */
  readonly filter: Match | undefined
  /** The report files to write. */
  readonly reports: readonly ReportFile[]
}

/** Adds the flags to a command. */
export function addExpectationFlags(command: Command): void {
  command
    .option(
      '--expect <expectation>',
      "what has to come: 'type:track x3 within 5s'; end once all is decided; repeatable",
      repeatable,
    )
    .option(
      '--filter <match>',
      'show only what matches, such as \'type:track event:"Order*"\'; all is answered, counted and saved',
    )
    .option('--report <kind=file>', 'report what became of --expect, junit=<file>', reportFlag)
}

/**
 * Parses the flags.
 *
 * @throws MatchError for an expectation or a filter that cannot be parsed; SettingError for `--report`
 * without `--expect`
 */
export async function readExpectationFlags({
  expect = [],
  filter,
  report = [],
}: ExpectationFlags): Promise<ExpectationSettings> {
  if (report.length > 0 && expect.length === 0) {
    throw new SettingError('--report', 'Cannot report without an expectation', 'Pass --expect too.')
  }
  const { parseExpectation, parseMatch } = await import('../../match/index.ts')
  return {
    expectations: expect.map((text) => parseExpectation(text)),
    filter: filter === undefined ? undefined : parseMatch(filter),
    reports: report,
  }
}
