import { InvalidArgumentError, type Command } from 'commander'
import type { Expectation, Match } from '../../match/index.ts'
import { SettingError } from '../../model/index.ts'
import { repeatable } from '../flags.ts'

/** The flags, from commander. */
export interface ExpectationFlags {
  readonly expect?: readonly string[]
  readonly filter?: string
  readonly report?: readonly ReportFile[]
}

/** The parsed flags. */
export interface ExpectationSettings {
  readonly expectations: readonly Expectation[]
  readonly filter: Match | undefined
  readonly reports: readonly ReportFile[]
}

/** Adds the flags to a command. */
export function addExpectationFlags(command: Command): void {
  command
    .optionsGroup('Expectations:')
    .option('--expect <text>', "exit when decided: 'type:track x3 within 5s'", repeatable)
    .option('--report <kind=file>', 'report them, as junit=<file>', reportFlag)
}

/**
 * Parses the flags.
 *
 * @param secret - the secret that signatures are checked with
 * @throws MatchError for an expectation or a filter that cannot be parsed; SettingError for `--report`
 * without `--expect`, or for an expectation about signatures without a secret
 */
export async function readExpectationFlags(
  { expect = [], filter, report = [] }: ExpectationFlags,
  secret: string | undefined,
): Promise<ExpectationSettings> {
  if (report.length > 0 && expect.length === 0) {
    throw new SettingError('--report', 'Cannot report without an expectation', 'Pass --expect too.')
  }
  const { parseExpectation, parseMatch } = await import('../../match/index.ts')
  const expectations = expect.map((text) => parseExpectation(text))
  if (secret === undefined) refuseSignatures(expectations)
  return {
    expectations,
    filter: filter === undefined ? undefined : parseMatch(filter),
    reports: report,
  }
}

function refuseSignatures(expectations: readonly Expectation[]): void {
  const verdicts = ['valid', 'invalid', 'missing']
  const about = expectations.find(({ match }) =>
    match.terms.some(
      ({ field, tests }) =>
        field.kind === 'named' &&
        field.name === 'sig' &&
        tests.some(({ text }) => verdicts.includes(text)),
    ),
  )
  if (about === undefined) return
  throw new SettingError(
    '--expect',
    `Cannot expect "${about.text}": signatures are not checked without a secret`,
    'Pass --secret or set EVROUTE_SECRET.',
  )
}

/** A report file to write. */
export interface ReportFile {
  readonly kind: 'junit'
  /** The path. An existing file is replaced. */
  readonly path: string
}

/** Collects `--report junit=<file>`. */
export function reportFlag(
  text: string,
  previous: readonly ReportFile[] = [],
): readonly ReportFile[] {
  const [, path] = /^junit=(.+)$/s.exec(text) ?? []
  if (path !== undefined) return [...previous, { kind: 'junit', path }]
  throw new InvalidArgumentError('It is written as junit=<file>.')
}
