import { InvalidArgumentError } from 'commander'
import { inGroup, option } from '../command.ts'
import { repeatable } from '../flags.ts'

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

function reportFlag(text: string, previous: readonly ReportFile[] = []): readonly ReportFile[] {
  const [, path] = /^junit=(.+)$/s.exec(text) ?? []
  if (path !== undefined) return [...previous, { kind: 'junit', path }]
  throw new InvalidArgumentError('It must be junit=<file>.')
}
