import { SettingError } from '../../model/index.ts'
import { command, flag, inGroup, option, type ValuesOf } from '../command.ts'
import { choiceOf, countFlag, duration, repeatable, reportOption, outputOptions } from '../flags.ts'

const countMax = 1_000_000_000

const options = {
  ...inGroup('Expectations:', {
    expect: option(
      '--expect <text>',
      "expect webhooks, such as 'type:track x3'; repeatable",
      repeatable,
    ),
    count: option('--count <n>', 'expect n well-formed webhooks', countFlag(1, countMax)),
    timeoutMs: option(
      '--timeout <duration>',
      'wait this long after the command ends [5s]',
      duration,
    ).or(5_000),
    allowPending: flag('--allow-pending', 'succeed even if deliveries still wait for a retry'),
    reports: reportOption,
  }),
  ...inGroup('The receiver:', {
    respond: option(
      '--respond <plan>',
      'answers, such as 503x2,reset; repeatable [200]',
      repeatable,
    ),
    secret: option('--secret <value>', 'text, @file or env:NAME [EVROUTE_SECRET]'),
    serve: flag('--serve', 'put a service in front of the receiver'),
    clock: option(
      '--clock <clock>',
      'real, or virtual to skip waits before retries',
      choiceOf(['real', 'virtual']),
    ),
    save: option('--save <file>', 'append every request to an NDJSON file'),
    hold: flag('--hold', 'if the run fails, keep the receiver until Ctrl-C'),
    scenario: option('--scenario <name>', 'play this error scenario, or all').conflicts([
      ...['expect', 'count', 'timeout', 'respond', 'secret', 'serve', 'clock', 'allowPending'],
      ...['page', 'hold', 'save', 'report', 'verbose', 'quiet'],
    ]),
  }),
  ...outputOptions({ quiet: 'print only unmet expectations' }),
  ...inGroup('Output:', {
    page: flag('--page', 'print the URL of a page that shows every request'),
  }),
}

/** The parsed options of `evroute run`. */
export type RunValues = ValuesOf<typeof options>

/** Adds `evroute run`. */
export const addRunCommand = command({
  name: 'run',
  summary: 'run a command with a receiver, and check what arrives',
  description: 'Runs a command with a receiver on a free port, and checks what arrived.',
  usage: '[options] -- <command> [arguments...]',
  arguments: [['[command...]', 'the command, run without a shell']],
  options,
  after: `Examples:
  evroute run --expect 'type:track event:"Order Completed" x1' -- npm test
  evroute run --serve --count 3 -- node shop.js
  evroute run --respond 503x3,200 --expect 'type:track' -- npm test
  evroute run --scenario all

The environment of the command contains:
  EVROUTE_URL        the receiver
  EVROUTE_SECRET     the secret from --secret, or a new one
  EVROUTE_ENDPOINT   with --serve: the service; else unset
  EVROUTE_WRITE_KEY  with --serve: its write key; else unset
EVROUTE_STORE and EVROUTE_ADMIN_TOKEN are unset.

The command keeps stdout; evroute writes to stderr. Signals are passed on, and
processes that the command leaves behind are ended, except those that started
their own session. The command has no controlling terminal, so sudo and ssh
cannot ask for a password.

Exit codes: the command's own; 128 + n after a signal. If the command succeeds:
5 an expectation was not met or a delivery is pending; 130 interrupted; 2 usage;
7 a file cannot be used.`,
  run: async (values, { io }, [words]: [readonly string[]]) => {
    if (values.scenario === undefined) {
      const { run } = await import('../running/run.ts')
      return run(values, words, io)
    }
    if (words.length > 0) {
      throw new SettingError(
        '--scenario',
        'Cannot run a command with --scenario: a scenario sends its own webhooks',
      )
    }
    const { scenario, json, color } = values
    const { runScenarios, scenariosNamed } = await import('../running/scenarios.ts')
    return runScenarios({ scenarios: scenariosNamed(scenario), json, color }, io)
  },
})
