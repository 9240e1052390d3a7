import { InvalidArgumentError } from 'commander'
import type { Expectation } from '../../match/index.ts'
import { SettingError } from '../../model/index.ts'
import { inGroup, option, type ValuesOf } from '../command.ts'
import { repeatable } from '../flags.ts'

/** The parsed expectations and `--filter`. */
export type ExpectationSettings = Awaited<ReturnType<typeof readExpectations>>

/** Parses expectations and `--filter`. Without a secret, refuses expectations about signatures. */
export async function readExpectations(
  { expect, shown, reports }: ExpectationValues,
  secret: string | undefined,
) {
  if (reports.length > 0 && expect.length === 0) {
    throw new SettingError('--report', 'Cannot report without an expectation', 'Pass --expect too.')
  }
  const { parseExpectation, parseMatch } = await import('../../match/index.ts')
  const expectations = expect.map((text) => parseExpectation(text))
  if (secret === undefined) refuseSignatures(expectations)
  return { expectations, filter: shown === undefined ? undefined : parseMatch(shown), reports }
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

/** A report file to write. An existing file is replaced. */
export interface ReportFile {
  readonly kind: 'junit'
  readonly path: string
}

/** The option of commands that can write a report for CI. */
export const reportOption = option(
  '--report <kind=file>',
  'write a test report, as in junit=report.xml',
  reportFlag,
).or([])

/** The options of a receiver that exits once its expectations are decided. */
export const expectationOptions = inGroup('Expectations:', {
  expect: option('--expect <text>', "expect webhooks, then exit: 'type:track x3..'", repeatable).or(
    [],
  ),
  reports: reportOption,
})

interface ExpectationValues extends ValuesOf<typeof expectationOptions> {
  /** The value of `--filter`. */
  readonly shown: string | undefined
}

function reportFlag(text: string, previous: readonly ReportFile[] = []): readonly ReportFile[] {
  const [, path] = /^junit=(.+)$/s.exec(text) ?? []
  if (path !== undefined) return [...previous, { kind: 'junit', path }]
  throw new InvalidArgumentError('It must be junit=<file>.')
}
