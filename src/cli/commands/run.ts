import { Option } from 'commander'
import { SettingError } from '../../model/index.ts'
import { reportFlag } from '../expecting/expectation-flags.ts'
import { choiceOf, countFlag, durationFlag, repeatable, addOutputFlags } from '../flags.ts'
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
  evroute run --expect 'type:track event:"Order Completed" x1' -- npm test
  evroute run --serve --count 3 -- node shop.js
  evroute run --respond 503x3,200 --expect 'type:track' -- npm test
  evroute run --scenario all

The command finds in its environment:
  EVROUTE_URL        the receiver
  EVROUTE_SECRET     the secret: of --secret, or a new one
  EVROUTE_ENDPOINT   with --serve: the service; else unset
  EVROUTE_WRITE_KEY  with --serve: its write key; else unset

The command keeps stdout; evroute writes to stderr. Signals are passed on, and
processes that the command leaves behind are ended. It has no controlling
terminal, so sudo and ssh cannot ask for a password.

Exit codes: the command's own, 128 + n after a signal. If it is 0: 5 an
expectation was not met or a delivery is pending, 130 interrupted, 2 usage, 7 a
file cannot be used.`

/** Adds `evroute run`. */
export const addRunCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('run')
    .summary('run a command beside a receiver, and check what arrives')
    .description('Runs a command beside a receiver on a free port, and checks what arrived.')
    .usage('[options] -- <command> [arguments...]')
    .argument('[command...]', 'the command, run without a shell')
    .optionsGroup('Expectations:')
    .option('--expect <text>', "expect webhooks: 'type:track x3', repeatable", repeatable)
    .option('--count <n>', 'expect n well-formed webhooks', countFlag(1, countMax))
    .option('--timeout <duration>', 'wait this long after the command ended [5s]', durationFlag)
    .option('--allow-pending', 'accept deliveries that still wait for a retry')
    .option('--report <kind=file>', 'write a report, as junit=<file>', reportFlag)
    .optionsGroup('The receiver:')
    .option('--respond <plan>', 'answers such as 503x3,200, repeatable [200]', repeatable)
    .option('--secret <value>', 'text, @file or env:NAME [EVROUTE_SECRET]')
    .option('--serve', 'put a service in front of the receiver')
    .addOption(
      new Option('--clock <clock>', 'system or virtual; virtual retries at once').argParser(
        choiceOf(['system', 'virtual']),
      ),
    )
    .option('--save <file>', 'append every request to an NDJSON file')
    .option('--hold', 'if the run fails, keep the receiver until Ctrl-C')
    .addOption(new Option('--scenario <name>', 'play a named error, or all').conflicts(ofCommands))
  addOutputFlags(command, { quiet: 'print only what was not met' })
    .option('--page', 'print the URL of the page with every request')
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
