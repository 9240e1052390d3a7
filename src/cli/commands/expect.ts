import { parseUrl, SettingError } from '../../model/index.ts'
import type { ExpectPlace } from '../expecting/expect.ts'
import { reportFlag, type ReportFile } from '../expecting/report-flag.ts'
import { countFlag, durationFlag } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface ExpectFlags {
  readonly api?: string
  readonly in?: string
  readonly after: number
  readonly timeout?: number
  readonly report?: readonly ReportFile[]
  readonly json?: boolean
  readonly quiet?: boolean
  readonly color: boolean
}

const examples = `
Examples:
  evroute expect 'type:track event:"Order*"' --api http://127.0.0.1:4100
  evroute expect 'type:identify x1' 'sig:invalid never' --in capture.ndjson
  evroute expect 'type:track x3.. within 10s' --api $URL --report junit=report.xml

An expectation is a match, and behind it how many and how soon: x3 exactly three, x3.. at least, x1..5,
never; within 2s. Without a count it is at least once. Where too many can come the receiver waits until
the time ends. In a capture the time begins with the first event that is looked at.

Exit codes: 0 all were met, 2 usage, 3 rows of the capture are no records, 5 one was not met,
7 a file cannot be used.`

/** Adds `evroute expect`. */
export const addExpectCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('expect')
    .summary('check what a receiver got')
    .description(
      'Waits for what a running receiver is expected to get, or looks for it in what listen saved.',
    )
    .argument('<expectation...>', 'such as \'type:track event:"Order*" x2 within 2s\'')
    .option('--api <url>', 'ask the receiver that listens there')
    .option('--in <file>', 'look into a file of listen --save or --json, - for stdin')
    .option(
      '--after <seq>',
      'count events with a higher seq only',
      countFlag(0, Number.MAX_SAFE_INTEGER),
      0,
    )
    .option(
      '--timeout <duration>',
      'how long the receiver waits (default: 5s, or what within says)',
      durationFlag,
    )
    .option('--report <kind=file>', 'write a report, junit=<file>; repeatable', reportFlag)
    .option('--json', 'a record for every expectation on stdout')
    .option('-q, --quiet', 'nothing of what was met')
    .addHelpText('after', examples)
  command.action(async (texts: readonly string[]) => {
    const flags = command.opts<ExpectFlags>()
    const { parseExpectation } = await import('../../match/index.ts')
    const { expect } = await import('../expecting/expect.ts')
    const code = await expect(
      {
        expectations: texts.map(parseExpectation),
        place: placeOf(flags),
        after: flags.after,
        timeoutMs: flags.timeout,
        reports: flags.report ?? [],
        json: flags.json ?? false,
        quiet: flags.quiet ?? false,
        color: flags.color,
      },
      io,
    )
    end(code)
  })
}

function placeOf({ api, in: path, timeout }: ExpectFlags): ExpectPlace {
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
