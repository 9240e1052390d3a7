import { Option } from 'commander'
import { SettingError } from '../../model/index.ts'
import { reportFlag } from '../expecting/report-flag.ts'
import { countFlag, durationFlag, repeatable } from '../flags.ts'
import type { AddCommand } from '../io.ts'
import type { RunFlags } from '../running/run-options.ts'

const countMax = 1_000_000_000
/** The flags that `--scenario` ignores. */
const ofCommands = [
  'expect',
  'count',
  'timeout',
  'respond',
  'secret',
  'serve',
  'clock',
  'allowPending',
  'page',
  'hold',
  'save',
  'report',
  'verbose',
  'quiet',
]

const examples = `
Examples:
  evroute run --expect 'type:track event:"Order Completed" sig:valid x1' -- npm test
  evroute run --serve --count 3 -- node shop.js
  evroute run --respond 503x3,200 --expect 'type:track' -- npm test
  evroute run --serve --clock virtual --respond 503x3,200 --count 4 -- node shop.js
  evroute run --scenario all

The command finds in its environment:
  EVROUTE_URL        where webhooks are sent to
  EVROUTE_SECRET     what they are signed with: that of --secret, or a new one
  EVROUTE_ENDPOINT   with --serve: the service, as Segment's libraries take their host
  EVROUTE_WRITE_KEY  with --serve: the write key there
Without --serve the last two are removed, so that nothing reaches another service.

Its output is its own: all that evroute tells is on stderr. Signals are passed on to it, a second one
ends it at once, and what it leaves running ends with it. It has no controlling
terminal: what asks on /dev/tty, as sudo and ssh do for a password, cannot.

Exit codes: that of the command, 128 + n where a signal ended it; where it is 0, 5 when something that was
expected did not come or a delivery is pending, 130 when it was interrupted; 2 usage, or a command that cannot be run, 7 a file that
cannot be used.`

/** Adds `evroute run`. */
export const addRunCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('run')
    .summary('run a command beside a receiver, and check what arrives')
    .description(
      'Starts a receiver on a free port, with --serve a whole service too, runs a command that finds them ' +
        'in its environment, and checks what was expected once it has ended.',
    )
    .usage('[options] -- <command> [arguments...]')
    .argument('[command...]', 'what is run, without a shell')
    .option('--expect <expectation>', "what has to come: 'type:track x3' (repeatable)", repeatable)
    .option('--count <n>', 'n well-formed webhooks have to come', countFlag(1, countMax))
    .option(
      '--timeout <duration>',
      'wait so long for the rest once the command has ended (default: 5s)',
      durationFlag,
    )
    .option(
      '--respond <plan>',
      'answers in turn, the last for ever, such as 503x3,200 (default: 200; repeatable)',
      repeatable,
    )
    .option('--report <kind=file>', 'write a report, junit=<file>; repeatable', reportFlag)
    .option('--secret <value>', 'sign and check with it; also @file, env:NAME or EVROUTE_SECRET')
    .option('--serve', 'put a service in front of the receiver')
    .addOption(
      new Option(
        '--clock <clock>',
        'with --serve: with virtual, retries take no time once the command has ended',
      ).choices(['system', 'virtual']),
    )
    .option('--allow-pending', 'end with 0 although a delivery still waits for a retry')
    .option('--page', 'tell the address of the page that shows every request')
    .option('--hold', 'if the run fails, keep the receiver and its page until Ctrl-C')
    .option('--save <file>', 'append every request to an NDJSON file, its exact bytes in base64')
    .addOption(
      new Option(
        '--scenario <name>',
        "instead of a command: a row of the specification's table of errors, or all",
      ).conflicts(ofCommands),
    )
    .option('--json', 'NDJSON records of --scenario on stdout')
    .option('-q, --quiet', 'only what did not come')
    .option('-v, --verbose', 'a line for every request')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
  command.action(async (words: readonly string[]) => {
    const flags = command.opts<RunFlags>()
    if (flags.scenario === undefined) {
      const { readRunOptions } = await import('../running/run-options.ts')
      const options = await readRunOptions(flags, words, io)
      const { run } = await import('../running/run.ts')
      end(await run(options, io))
      return
    }
    if (words.length > 0) {
      throw new SettingError('--scenario', 'Cannot run a command in a scenario: it has its own')
    }
    const { scenario, json = false, color } = flags
    const { runScenarios, scenariosNamed } = await import('../running/scenarios.ts')
    end(await runScenarios({ scenarios: scenariosNamed(scenario), json, color }, io))
  })
}
