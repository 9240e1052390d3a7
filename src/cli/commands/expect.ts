import { command, flag, inGroup, option, type ValuesOf } from '../command.ts'
import { countFlag, duration, reportOption } from '../flags.ts'

const options = {
  ...inGroup('Where:', {
    api: option('--api <url>', 'ask this receiver'),
    token: option('--token <value>', 'the token of `listen --token`: text, @file or env:NAME'),
    path: option('--in <file>', 'read a file of `listen --save`, - for stdin'),
    after: option(
      '--after <seq>',
      'skip events up to and including this number',
      countFlag(0, Number.MAX_SAFE_INTEGER),
    ).or(0),
    timeoutMs: option('--timeout <duration>', 'time limit [from "within", otherwise 4s]', duration),
  }),
  ...inGroup('Output:', {
    reports: reportOption,
    json: flag('--json', 'write each expectation to stdout as JSON'),
    quiet: flag('-q, --quiet', 'print only unmet expectations'),
    color: flag('--no-color', 'print without colours'),
  }),
}

/** The parsed options of `evroute expect`. */
export type ExpectValues = ValuesOf<typeof options>

/** Adds `evroute expect`. */
export const addExpectCommand = command({
  name: 'expect',
  summary: 'check what a receiver got',
  description: 'Checks what a running receiver gets, or what a capture contains.',
  arguments: [['<expectation...>', 'such as \'type:track event:"Order*" x2 within 2s\'']],
  options,
  after: `Examples:
  evroute expect 'type:track event:"Order*"' --api http://127.0.0.1:4100
  evroute expect 'type:identify x1' 'sig:invalid never' --in capture.ndjson
  evroute expect 'type:track x3..' --api $URL --report junit=report.xml

An expectation is a match, then a count and a time limit: x3 for exactly three,
x3.. for at least three, x1..5, never; within 2s. The default is at least one.
If there is an upper bound, the receiver waits until the time is up. In a capture, the time starts at the
first event that is not skipped.

Exit codes: 0 every expectation is met; 2 usage; 3 some rows are not records;
5 an expectation is not met; 7 a file or the receiver cannot be used.`,
  run: async (values, { io }, [texts]: [readonly string[]]) =>
    (await import('../expecting/expect.ts')).expect(texts, values, io),
})
