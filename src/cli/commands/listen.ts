import type { Command } from 'commander'
import { EvrouteError } from '../../model/index.ts'
import type { ForwardTarget } from '../../receiver/index.ts'
import {
  addExpectationFlags,
  readExpectationFlags,
  type ExpectationFlags,
} from '../expecting/expectation-flags.ts'
import { countFlag, durationFlag, durationFlagUpTo } from '../flags.ts'
import type { AddCommand } from '../io.ts'
import { addFaultFlags, type FaultFlags } from '../listening/fault-flags.ts'
import { forwardFlag } from '../listening/forward-flag.ts'
import { readOtherSecrets, readSecret } from '../secret.ts'

interface ListenFlags extends FaultFlags, ExpectationFlags {
  readonly port: number
  readonly host: string
  readonly secret?: string
  readonly config?: string
  readonly strict?: boolean
  readonly count?: number
  readonly timeout?: number
  readonly save?: string
  readonly input: boolean
  readonly forwardTo?: readonly ForwardTarget[]
  readonly forwardTimeout?: number
  readonly allowUnverified?: boolean
  readonly onEvent?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color: boolean
}

const countMax = 1_000_000_000
const forwardTimeoutMsMax = 60 * 60 * 1_000

const examples = `
Examples:
  evroute listen --secret s3cret
  evroute listen --port 0 --json --count 10 --timeout 60s
  evroute listen --port 0 --expect 'type:track x3..' --expect 'sig:invalid never' --timeout 30s
  evroute listen --respond 503x3,200 --delay 1s..3s
  evroute listen --endpoints 2 --respond endpoint=2:reset
  evroute listen --scenario timeout
  evroute listen --forward-to http://127.0.0.1:3000/hook --forward-timeout 0
  evroute listen --on-event ./import.sh -- --dry-run

Without any flag a path asks for an answer: /status/503, /delay/6s, /fault/reset, or both as in
/delay/1s/status/503.

On a terminal keys show a request in full, resend it, pause, filter and more: h lists them.

Exit codes: 0 ended as asked, 2 usage, 5 what --count or --expect asks for did not come in time, or too
much of it, 6 a signature did not verify (--strict), 7 the port or a file cannot be used.`

/** Adds `evroute listen`. */
export const addListenCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('listen')
    .summary('receive webhooks and show them')
    .description(
      'Receives webhooks on this machine, checks their signatures and shows each in a line.',
    )
    .argument('[args...]', 'arguments of the program of --on-event')
    .option('-p, --port <n>', 'port to listen on, 0 for a free one', countFlag(0, 65_535), 4_100)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--count <n>', 'end after n well-formed webhooks', countFlag(1, countMax))
    .option('--timeout <duration>', 'end after this time, with 5 if anything lacks', durationFlag)
    .option('--save <file>', 'append every request to an NDJSON file, its exact bytes in base64')
    .option('--no-input', 'no keys, even on a terminal')
    .option('--json', 'NDJSON records on stdout')
    .option('-q, --quiet', 'only the lines of requests')
    .option('-v, --verbose', 'payloads too, up to 200 lines of each')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
  addPassingFlags(command)
  addSignatureFlags(command)
  addExpectationFlags(command)
  addFaultFlags(command)
  command.action(async (args: readonly string[]) => {
    const flags = command.opts<ListenFlags>()
    const onEvent = readProgram(flags.onEvent, args)
    const { listen } = await import('../listening/listen.ts')
    const code = await listen(
      {
        host: flags.host,
        port: flags.port,
        secret: await readSecret(flags.secret, io),
        otherSecrets: await readOtherSecrets(flags.config, io),
        strict: flags.strict ?? false,
        faults: flags,
        count: flags.count,
        ...(await readExpectationFlags(flags)),
        timeoutMs: flags.timeout,
        save: flags.save,
        forwardTo: flags.forwardTo ?? [],
        forwardTimeoutMs: flags.forwardTimeout,
        allowUnverified: flags.allowUnverified ?? false,
        onEvent,
        input: flags.input,
        json: flags.json ?? false,
        quiet: flags.quiet ?? false,
        verbose: flags.verbose ?? false,
        color: flags.color,
      },
      io,
    )
    end(code)
  })
}

/** A duration, or 0 for no limit. */
function forwardTimeoutFlag(text: string): number {
  return text === '0' ? 0 : durationFlagUpTo(forwardTimeoutMsMax)(text)
}

function readProgram(
  program: string | undefined,
  args: readonly string[],
): readonly [string, ...string[]] | undefined {
  if (program !== undefined && program !== '') return [program, ...args]
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

function addSignatureFlags(command: Command): void {
  command
    .option('--secret <value>', 'check signatures; also @file, env:NAME or EVROUTE_SECRET')
    .option('--config <file>', "a service's configuration: know its destinations' secrets by name")
    .option('--strict', 'answer 401 to a bad or missing signature, and end with 6')
}

/** Adds the flags for forwarding and `--on-event`. */
function addPassingFlags(command: Command): void {
  command
    .option(
      '--forward-to <[type=]url>',
      'pass webhooks on as they are, and the status of the answer back; repeatable, track=<url> takes ' +
        'one type, a URL without a type the rest',
      forwardFlag,
    )
    .option(
      '--forward-timeout <duration>',
      'time to answer a forwarded webhook, 0 while debugging (default: 5s)',
      forwardTimeoutFlag,
    )
    .option(
      '--on-event <program>',
      'run a program for every request, without a shell, its record on stdin; args behind the flags, ' +
        'behind -- where they begin with a dash',
    )
    .option(
      '--allow-unverified',
      'forward and run the program also for a foreign Origin or a signature that is not valid',
    )
}
