import { parseUrl, SettingError } from '../../model/index.ts'
import type { ExpectSource } from '../expecting/expect.ts'
import { reportFlag, type ReportFile } from '../expecting/expectation-flags.ts'
import { countFlag, durationFlag } from '../flags.ts'
import type { AddCommand } from '../io.ts'
import { readSecret } from '../secret.ts'

interface ExpectFlags {
  readonly api?: string
  readonly in?: string
  readonly token?: string
  readonly after?: number
  readonly timeout?: number
  readonly report?: readonly ReportFile[]
  readonly json?: boolean
  readonly quiet?: boolean
  readonly color: boolean
}

const seqMax = Number.MAX_SAFE_INTEGER

const examples = `
Examples:
  evroute expect 'type:track event:"Order*"' --api http://127.0.0.1:4100
  evroute expect 'type:identify x1' 'sig:invalid never' --in capture.ndjson
  evroute expect 'type:track x3..' --api $URL --report junit=report.xml

An expectation is a match, then how many and how soon: x3 exactly three, x3.. at
least, x1..5, never; within 2s. The default is at least one. With an upper bound
the receiver waits until the time ends. In a capture, the time starts at the
first event that counts.

Exit codes: 0 all met, 2 usage, 3 some rows are not records, 5 some unmet,
7 a file cannot be used.`

/** Adds `evroute expect`. */
export const addExpectCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('expect')
    .summary('check what a receiver got')
    .description('Checks what a running receiver gets, or what a capture contains.')
    .argument('<expectation...>', 'such as \'type:track event:"Order*" x2 within 2s\'')
    .optionsGroup('Where:')
    .option('--api <url>', 'ask this receiver')
    .option('--token <value>', 'the token of `listen --token`: text, @file or env:NAME')
    .option('--in <file>', 'read a file of `listen --save`, - for stdin')
    .option('--after <seq>', 'skip events up to this number', countFlag(0, seqMax))
    .option('--timeout <duration>', 'how long the receiver waits [5s, or within]', durationFlag)
    .optionsGroup('Output:')
    .option('--report <kind=file>', 'write a report, as junit=<file>', reportFlag)
    .option('--json', 'write a record for each expectation to stdout')
    .option('-q, --quiet', 'print only what was not met')
    .addHelpText('after', examples)
  command.action(async (texts: readonly string[]) => {
    const flags = command.opts<ExpectFlags>()
    const { parseExpectation } = await import('../../match/index.ts')
    const { expect } = await import('../expecting/expect.ts')
    const { token } = flags
    const options = {
      ...{ after: 0, json: false, quiet: false, ...flags },
      expectations: texts.map(parseExpectation),
      source: sourceOf(flags),
      token: token === undefined ? undefined : await readSecret(token, io, '--token'),
      timeoutMs: flags.timeout,
      reports: flags.report ?? [],
    }
    end(await expect(options, io))
  })
}

function sourceOf({ api, in: path, timeout }: ExpectFlags): ExpectSource {
  if ((api === undefined) === (path === undefined)) {
    throw new SettingError(
      '--api',
      'Cannot tell where to look for events',
      'Pass either --api with the URL of a receiver or --in with a file.',
    )
  }
  if (path !== undefined) {
    if (timeout === undefined) return { kind: 'capture', path }
    throw new SettingError('--timeout', 'Cannot wait for a file', 'Leave --timeout out with --in.')
  }
  if (/^https?:\/\//i.test(api ?? '') && parseUrl(api ?? '') !== undefined) {
    return { kind: 'api', url: api ?? '' }
  }
  throw new SettingError(
    '--api',
    `Cannot ask ${api ?? ''}: it is no http URL`,
    'Pass the URL that `evroute listen` prints.',
  )
}
