import type { AddCommand } from '../command.ts'
import { countFlag, durationFlag, durationFlagUpTo } from '../flags.ts'
import { readSecret } from '../secret.ts'

interface ListenFlags {
  readonly port: number
  readonly host: string
  readonly secret?: string
  readonly strict?: boolean
  readonly respond?: number
  readonly delay?: number
  readonly count?: number
  readonly timeout?: number
  readonly save?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly verbose?: boolean
  readonly color: boolean
}

const countMax = 1_000_000_000
const delayMsMax = 60 * 60 * 1_000

const examples = `
Examples:
  evroute listen --secret s3cret
  evroute listen --port 0 --json --count 10 --timeout 60s
  evroute listen --respond 503 --delay 2s

Exit codes: 0 ended as asked, 2 usage, 5 --timeout ended before --count webhooks arrived,
6 a signature did not verify (--strict), 7 the port or a file cannot be used.`

/** Adds `evroute listen`. */
export const addListenCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('listen')
    .summary('receive webhooks and show them')
    .description(
      'Receives webhooks on this machine, checks their signatures and shows each in a line.',
    )
    .option('-p, --port <n>', 'port to listen on, 0 for a free one', countFlag(0, 65_535), 4_100)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--secret <value>', 'check signatures; also @file, env:NAME or EVROUTE_SECRET')
    .option('--strict', 'answer 401 to a bad or missing signature, and end with 6')
    .option('--respond <status>', 'status of the answers (default: 200)', countFlag(200, 599))
    .option(
      '--delay <duration>',
      'wait before each answer, at most 1h',
      durationFlagUpTo(delayMsMax),
    )
    .option('--count <n>', 'end after n well-formed webhooks', countFlag(1, countMax))
    .option(
      '--timeout <duration>',
      'end after this time, with 5 if --count is not reached',
      durationFlag,
    )
    .option('--save <file>', 'append every request to an NDJSON file, its exact bytes in base64')
    .option('--json', 'NDJSON records on stdout')
    .option('-q, --quiet', 'only the lines of requests')
    .option('-v, --verbose', 'payloads too, up to 200 lines of each')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
  command.action(async () => {
    const flags = command.opts<ListenFlags>()
    const { listen } = await import('../listening/listen.ts')
    const code = await listen(
      {
        host: flags.host,
        port: flags.port,
        secret: await readSecret(flags.secret, io),
        strict: flags.strict ?? false,
        status: flags.respond,
        delayMs: flags.delay,
        count: flags.count,
        timeoutMs: flags.timeout,
        save: flags.save,
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
