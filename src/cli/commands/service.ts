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

const serveExamples = `
Examples:
  evroute init && evroute serve
  evroute serve --config /etc/evroute/evroute.config.json --json
  evroute serve --role deliver

Several processes can share a store in PostgreSQL. With --role ingest a process accepts calls and leaves
the deliveries to others. With --role deliver it only delivers, and answers calls with 503.

The configuration is read again on SIGHUP and when its file changes. An invalid one is refused, and the old
one stays in force. The log goes to stderr: lines of text on a terminal, else, and with --json, one JSON
object a line. The service keeps running if stdout or stderr is closed.

Exit codes: 0 ended by SIGINT or SIGTERM, 2 the configuration is invalid, 7 a port, a file or the store
cannot be used, at the start or later.`

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
      'time to finish requests at the end (default: 5s)',
      durationFlagUpTo(graceMsMax),
    )
    .option(
      '--drain <duration>',
      'serve this long after a signal, with /readyz 503 (default: 0s)',
      durationFlagUpTo(drainMsMax),
    )
    .addOption(
      new Option('--role <role>', 'the work of this process, if several share a store')
        .choices(roles)
        .default('all'),
    )
    .addOption(
      new Option('--log-level <level>', 'the least important level to log')
        .choices(logLevels)
        .default('info'),
    )
    .option('--json', 'a ready record, or the problems, on stdout')
    .option('--no-color', 'no colours')
    .addHelpText('after', serveExamples)
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

interface InitFlags {
  readonly config: string
  readonly force?: boolean
  readonly full?: boolean
  readonly json?: boolean
}

const initExamples = `
Examples:
  evroute init
  evroute init --full
  evroute init --config staging/evroute.config.json

Exit codes: 0 written, 2 usage, 7 a file exists already or cannot be written.`

/** Adds `evroute init`. */
export const addInitCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('init')
    .summary('write a starter configuration of a service')
    .description(
      'Writes a configuration that works on this machine, and new random secrets in evroute.secrets beside ' +
        'it. Prints the next steps. Replaces existing files only with --force.',
    )
    .option('--config <file>', 'the file to write', defaultConfigurationPath)
    .option('--full', 'write every setting, with its default and a comment')
    .option('--force', 'replace existing files, secrets too')
    .option('--json', 'a record of the written files on stdout')
    .addHelpText('after', initExamples)
  command.action(async () => {
    const { config: path, force = false, full = false, json = false } = command.opts<InitFlags>()
    const { init } = await import('../configuration/init.ts')
    end(await init({ path, force, full, json }, io))
  })
}

interface ConfigFlags {
  readonly config: string
  readonly json?: boolean
  readonly color: boolean
}

const configExamples = `
Examples:
  evroute config
  evroute config --config staging/evroute.config.json --json

Exit codes: 0 the configuration is valid, 2 it is not, 7 it cannot be read.`

/** Adds `evroute config`. */
export const addConfigCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('config')
    .summary('check and show the configuration of a service')
    .description(
      'Prints every setting and where it comes from: the file, a default, env:NAME or @file. Secrets are ' +
        'masked. If `evroute serve` would refuse the file, prints every problem.',
    )
    .option('--config <file>', 'the configuration', defaultConfigurationPath)
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
    .addHelpText('after', configExamples)
  command.action(async () => {
    const { config: path, json = false, color } = command.opts<ConfigFlags>()
    const { showConfiguration } = await import('../configuration/show.ts')
    end(await showConfiguration({ path, json, color }, io))
  })
}
