import { logLevels, type LogLevel } from '../../runtime/index.ts'
import type { ServiceRole } from '../../service/index.ts'
import { command, flag, option, type ValuesOf } from '../command.ts'
import { defaultConfigurationPath, durationUpTo } from '../flags.ts'

const graceMsMax = 60_000
const drainMsMax = 10 * 60_000

const serveOptions = {
  path: option('--config <file>', 'the configuration').orShown(defaultConfigurationPath),
  graceMs: option(
    '--grace <duration>',
    'time for requests to finish on shutdown (default: 5s)',
    durationUpTo(graceMsMax),
  ).or(5_000),
  drainMs: option(
    '--drain <duration>',
    'keep serving this long after a signal, with /readyz 503 (default: 0s)',
    durationUpTo(drainMsMax),
  ).or(0),
  role: option<ServiceRole>('--role <role>', 'what this process does, if several share a store')
    .choices(['all', 'ingest', 'deliver'])
    .orShown('all'),
  logLevel: option<LogLevel>('--log-level <level>', 'the lowest level to log')
    .choices(logLevels)
    .orShown('info'),
  json: flag('--json', 'write a record to stdout when ready, or problems'),
  color: flag('--no-color', 'print without colours'),
}

/** The parsed options of `evroute serve`. */
export type ServeValues = ValuesOf<typeof serveOptions>

/** Adds `evroute serve`. */
export const addServeCommand = command({
  name: 'serve',
  summary: 'run the service of a configuration',
  description:
    'Receives calls from Segment libraries and other clients, routes them, and delivers them as ' +
    'signed webhooks from a durable queue.',
  options: serveOptions,
  after: `Examples:
  evroute init && evroute serve
  evroute serve --config /etc/evroute/evroute.config.json --json
  evroute serve --role deliver

Several processes can share a store in PostgreSQL. With --role ingest a process accepts calls and leaves
the deliveries to others. With --role deliver it only delivers, and answers calls with 503.

The configuration is reloaded on SIGHUP and when its file changes. If the new one is invalid, the previous
one stays in force. The log goes to stderr. It is text on a terminal; otherwise, and with --json, it is one
JSON object per line. The service keeps running if stdout or stderr is closed.

Exit codes: 0 ended by SIGINT or SIGTERM; 2 the configuration is invalid; 7 a port, a file or the store
cannot be used, at the start or later.`,
  run: async (values, { io }) => (await import('../serving/serve.ts')).serve(values, io),
})

const initOptions = {
  path: option('--config <file>', 'the file to write').orShown(defaultConfigurationPath),
  full: flag('--full', 'write every setting, with its default and a comment'),
  force: flag('--force', 'replace existing files, including the secrets'),
  json: flag('--json', 'list the files on stdout, as a record'),
}

/** The parsed options of `evroute init`. */
export type InitValues = ValuesOf<typeof initOptions>

/** Adds `evroute init`. */
export const addInitCommand = command({
  name: 'init',
  summary: 'write a starter configuration for a service',
  description:
    'Writes a configuration that works on this machine, and new random secrets in evroute.secrets beside ' +
    'it. Prints the next steps. Replaces existing files only with --force.',
  options: initOptions,
  after: `Examples:
  evroute init
  evroute init --full
  evroute init --config staging/evroute.config.json

Exit codes: 0 written; 2 usage; 7 a file already exists or cannot be written.`,
  run: async (values, { io }) => (await import('../configuration/init.ts')).init(values, io),
})

const configOptions = {
  path: option('--config <file>', 'the configuration').orShown(defaultConfigurationPath),
  json: flag('--json', 'write NDJSON records to stdout'),
  color: flag('--no-color', 'print without colours'),
}

/** The parsed options of `evroute config`. */
export type ConfigValues = ValuesOf<typeof configOptions>

/** Adds `evroute config`. */
export const addConfigCommand = command({
  name: 'config',
  summary: 'check and show the configuration of a service',
  description:
    'Prints every setting and where it comes from: the file, a default, env:NAME or @file. Secrets are ' +
    'masked. If `evroute serve` would refuse the file, prints every problem.',
  options: configOptions,
  after: `Examples:
  evroute config
  evroute config --config staging/evroute.config.json --json

Exit codes: 0 the configuration is valid; 2 it is not; 7 it cannot be read.`,
  run: async (values, { io }) =>
    (await import('../configuration/show.ts')).showConfiguration(values, io),
})
