import type { Command } from 'commander'
import { EvrouteError, SettingError } from '../../model/index.ts'
import {
  addExpectationFlags,
  readExpectationFlags,
  type ExpectationFlags,
} from '../expecting/expectation-flags.ts'
import { countFlag, durationFlag, durationFlagUpTo, headerFlag, addOutputFlags } from '../flags.ts'
import type { AddCommand, Io } from '../io.ts'
import { addFaultFlags, forwardFlag, type FaultFlags } from '../listening/fault-flags.ts'
import type { ListenOptions } from '../listening/listen.ts'
import { readHeaders, readOtherSecrets, readSecret } from '../secret.ts'

/** The flags whose values are options as they are. */
type PlainFlags = Partial<
  Pick<
    ListenOptions,
    | ('host' | 'port' | 'secret' | 'strict' | 'token' | 'count' | 'save' | 'last')
    | ('forwardTo' | 'forwardFilter' | 'allowUnverified' | 'json' | 'quiet' | 'verbose')
  >
>

interface ListenFlags extends PlainFlags, FaultFlags, ExpectationFlags {
  readonly config?: string
  readonly timeout?: number
  readonly input: boolean
  readonly forwardTimeout?: number
  readonly forwardHeader?: Readonly<Record<string, string>>
  readonly insecure?: boolean
  readonly onEvent?: string
  readonly color: boolean
}

const defaults = {
  ...{ host: '127.0.0.1', port: 4_100, strict: false, forwardTo: [], allowUnverified: false },
  ...{ json: false, quiet: false, verbose: false },
}

const countMax = 1_000_000_000
const lastMax = 1_000
const forwardTimeoutMsMax = 60 * 60 * 1_000

const examples = `
Examples:
  evroute listen --secret s3cret
  evroute listen --forward-to 3000
  evroute listen --forward-to localhost:3000/hook --forward-timeout 0
  evroute listen --port 0 --json --count 10 --timeout 60s
  evroute listen --port 0 --expect 'type:track x3..' --timeout 30s
  evroute listen --respond 503x3,200 --delay 1s..3s
  evroute listen --endpoints 2 --respond endpoint=2:reset
  evroute listen --on-event ./import.sh -- --dry-run

A path can ask for an answer: /status/503, /delay/6s, /fault/reset, or
/delay/1s/status/503. On a terminal, press h for the keys.

Faults: reset, hang, empty, truncate, malformed, drip, endless.
Certificates: self-signed, expired, wrong-host, valid.
Scenarios: timeout, 5xx-then-ok, down-4h, self-signed, any-succeeds, flaky.

Exit codes: 0 success, 2 usage, 5 an expectation or --count was not met,
6 a signature did not verify (--strict), 7 the port or a file cannot be used.`

/** Adds `evroute listen`. */
export const addListenCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('listen')
    .summary('receive webhooks and show them')
    .description('Receives webhooks, checks their signatures and shows each in a line.')
    .argument('[args...]', 'arguments of the program of --on-event')
    .optionsGroup('Where:')
    .option('-p, --port <n>', 'port, 0 for a free one [4100]', countFlag(0, 65_535))
    .option('--host <address>', 'address to listen on [127.0.0.1]')
    .option('--token <value>', 'let other machines ask with this token')
    .optionsGroup('Signatures:')
    .option('--secret <value>', 'check: text, @file, env:NAME [EVROUTE_SECRET]')
    .option('--config <file>', "know the secrets of a service's destinations")
    .option('--strict', 'refuse bad signatures with 401, then exit 6')
  addPassingFlags(command)
  command
    .optionsGroup('How long:')
    .option('--count <n>', 'exit after n well-formed webhooks', countFlag(1, countMax))
    .option('--timeout <duration>', 'exit after this long; 5 if any are missing', durationFlag)
  addExpectationFlags(command)
  addFaultFlags(command)
  addOutputFlags(command, { quiet: 'print only requests', verbose: 'print payloads too' })
    .option('--filter <match>', "show only what matches: 'type:track'")
    .option('--save <file>', 'append every request to an NDJSON file')
    .option('--last <n>', 'show the last n requests of --save first', countFlag(1, lastMax))
    .option('--no-input', 'read no keys, even on a terminal')
    .addHelpText('after', examples)
  command.action(async (args: readonly string[]) => {
    const flags = command.opts<ListenFlags>()
    const onEvent = await readProgram(flags.onEvent, args, io)
    if (flags.last !== undefined && flags.save === undefined) {
      throw new SettingError('--last', 'Cannot use --last without --save', 'Name the file.')
    }
    const { listen } = await import('../listening/listen.ts')
    const secret = await readSecret(flags.secret, io)
    const { token } = flags
    const options = {
      ...{ ...defaults, ...flags, secret, onEvent, faults: flags },
      otherSecrets: await readOtherSecrets(flags.config, io),
      ...(await readExpectationFlags(flags, secret)),
      token: token === undefined ? undefined : await readSecret(token, io, '--token'),
      timeoutMs: flags.timeout,
      forwardHeaders: await readHeaders(flags.forwardHeader, io, '--forward-header'),
      forwardInsecure: flags.insecure ?? false,
      forwardTimeoutMs: flags.forwardTimeout,
    }
    end(await listen(options, io))
  })
}

/** A duration, or 0 for no limit. */
function forwardTimeoutFlag(text: string): number {
  return text === '0' ? 0 : durationFlagUpTo(forwardTimeoutMsMax)(text)
}

async function readProgram(
  program: string | undefined,
  args: readonly string[],
  io: Io,
): Promise<readonly [string, ...string[]] | undefined> {
  if (program !== undefined && program !== '') {
    const { checkProgram } = await import('../listening/on-event.ts')
    await checkProgram(program, io.env)
    return [program, ...args]
  }
  const [first] = args
  if (program === undefined && first === undefined) return undefined
  throw new EvrouteError({
    code: 'invalid_usage',
    message:
      program === undefined
        ? `Cannot use ${JSON.stringify(first)}: only the program of --on-event takes arguments`
        : 'Cannot run a program without a name',
    hint: 'Write --on-event <program> [args].',
  })
}

/** Adds the flags for forwarding and `--on-event`. */
function addPassingFlags(command: Command): void {
  command
    .optionsGroup('Passing on:')
    .option('--forward-to <url>', 'forward: 3000, track=localhost:3000/hook', forwardFlag)
    .option('--forward-filter <match>', 'forward only what matches')
    .option('--forward-header <name: value>', 'set a header, repeatable', headerFlag)
    .option(
      '--forward-timeout <duration>',
      'time for its answer, 0 for any [5s]',
      forwardTimeoutFlag,
    )
    .option('--insecure', 'accept any certificate of --forward-to')
    .option('--on-event <program>', 'run a program for each request, on its stdin')
    .option('--allow-unverified', 'pass on unverified requests too')
}
