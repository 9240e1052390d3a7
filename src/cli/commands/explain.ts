import type { Configuration } from '../../service/index.ts'
import { SettingError } from '../../model/index.ts'
import { command, option, type ValuesOf } from '../command.ts'
import type { Io } from '../io.ts'
import { defaultConfigurationPath, resultOptions } from '../flags.ts'
import { fileRows } from '../sending/row-source.ts'
import {
  defaultUrl,
  readSendingOptions,
  webhookOptions,
  type ConfiguredTarget,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const options = {
  config: option('--config <file>', `the configuration (default: ${defaultConfigurationPath})`),
  source: option('--source <id>', 'the configured source that the calls come from'),
  ...webhookOptions,
  ...resultOptions(),
}

/** Adds `evroute explain`. */
export const addExplainCommand = command({
  name: 'explain',
  summary: 'show what would happen to calls',
  description: 'Prints whether each call would be sent, why, and the exact signed webhook.',
  arguments: [['<file>', 'calls that `send --file` can read, - for stdin']],
  options,
  after: `Examples:
  evroute explain call.json
  evroute explain call.json --source website
  evroute explain call.json --to https://example.com/hook --secret @key
  echo '{"type":"track","userId":"u_1","event":"E"}' | evroute explain -

Uses the destinations in evroute.config.json, if this folder has one.
--to, --header, --secret and EVROUTE_URL describe an endpoint to use instead.
Header values are not shown.

Exit codes: 0 every call can be sent or is filtered out; 2 usage or a wrong
configuration; 3 rejected rows; 7 a file cannot be read; 130 interrupted.`,
  run: async (values, { io }, [file]: [string]) => {
    // This command plans webhooks. Without `to`, EVROUTE_ENDPOINT would select a service.
    const { to = [io.env['EVROUTE_URL'] || defaultUrl] } = values
    const given = await readSendingOptions({ ...values, to, dryRun: true }, io)
    const configured = await configuredTarget(values, io)
    const sending = { ...given, target: configured ?? given.target }
    return transfer({ io, options: sending, rows: fileRows(file, {}, io) })
  },
})

/**
 * Reads the configured destinations. Returns undefined if options or EVROUTE_URL describe an endpoint, or if there is
 * no configuration.
 */
async function configuredTarget(
  { config, source, to, headers, secret }: ValuesOf<typeof options>,
  io: Io,
): Promise<ConfiguredTarget | undefined> {
  const described = Object.entries({ to, header: headers, secret })
  const [flag] = described.find(([, value]) => value !== undefined) ?? []
  if (flag !== undefined) {
    const other = Object.entries({ source, config }).find(([, value]) => value !== undefined)
    if (other === undefined) return undefined
    const message = `Cannot use --${flag} together with --${other[0]}: the configuration describes the endpoints`
    throw new SettingError(`--${flag}`, message)
  }
  const isNamed = config !== undefined || source !== undefined
  if (!isNamed && Boolean(io.env['EVROUTE_URL'])) return undefined
  const { readFileIfThere, readFileOf } = await import('../configuration/read-for-command.ts')
  const read = isNamed ? readFileOf : readFileIfThere
  const found = await read(config ?? defaultConfigurationPath, io)
  return found && targetOf(found, source)
}

async function targetOf(
  { sources, destinations }: Pick<Configuration, 'sources' | 'destinations'>,
  source: string | undefined,
): Promise<ConfiguredTarget> {
  const ids = sources.map(({ id }) => id)
  const sourceId = source ?? (ids.length === 1 ? ids[0] : undefined)
  if (sourceId !== undefined && ids.includes(sourceId)) {
    return { kind: 'configured', sourceId, destinations }
  }
  const { refusalError } = await import('../audiences/refusal.ts')
  throw refusalError({ kind: 'unknown_source', knownIds: ids }, { source })
}
