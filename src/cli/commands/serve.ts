import { Option } from 'commander'
import { logLevels, type LogLevel } from '../../runtime/index.ts'
import type { ServiceRole } from '../../service/index.ts'
import { defaultConfigurationPath, durationFlagUpTo } from '../flags.ts'
import type { AddCommand } from '../io.ts'

interface ServeFlags {
  readonly config: string
  readonly json?: boolean
  readonly drain?: number
  readonly grace?: number
  readonly role: ServiceRole
  readonly logLevel: LogLevel
}

const graceMsDefault = 5_000
const graceMsMax = 60_000
const drainMsMax = 10 * 60_000
const roles: readonly ServiceRole[] = ['all', 'ingest', 'deliver']

const examples = `
Examples:
  evroute init && evroute serve
  evroute serve --config /etc/evroute/evroute.config.json --json
  evroute serve --role deliver

Several processes share a store in PostgreSQL: with --role ingest one takes calls and leaves delivering to
the others, with --role deliver it takes none and answers 503.

The configuration is read again on SIGHUP and when its file changes; one that cannot be used is refused
and the old one stays in force. What it does is told on stderr: in lines of text on a terminal, else, and
with --json, in one JSON object a line. It goes on when nobody reads that any more.

Exit codes: 0 ended by SIGINT or SIGTERM, 2 the configuration cannot be used, 7 a port, a file or the
store cannot be used, at the start or later.`

/** Adds `evroute serve`. */
export const addServeCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('serve')
    .summary('run the service of a configuration')
    .description(
      'Receives calls from Segment libraries and other clients, routes them, and delivers them as ' +
        'signed webhooks out of a durable queue.',
    )
    .option('--config <file>', 'the configuration', defaultConfigurationPath)
    .option(
      '--grace <duration>',
      'time for requests under way at the end (default: 5s)',
      durationFlagUpTo(graceMsMax),
    )
    .option(
      '--drain <duration>',
      'serve this long after a signal, with /readyz 503 (default: 0s)',
      durationFlagUpTo(drainMsMax),
    )
    .addOption(
      new Option('--role <role>', 'what this process does, where several share a store')
        .choices(roles)
        .default('all'),
    )
    .addOption(
      new Option('--log-level <level>', 'the least important lines of the log')
        .choices(logLevels)
        .default('info'),
    )
    .option('--json', 'a ready record, or what is wrong, on stdout')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
  command.action(async () => {
    const {
      config: path,
      json = false,
      drain: drainMs = 0,
      grace: graceMs = graceMsDefault,
      role,
      logLevel,
    } = command.opts<ServeFlags>()
    const { serve } = await import('../serving/serve.ts')
    end(await serve({ path, json, drainMs, graceMs, role, logLevel }, io))
  })
}
