import { SettingError } from '../../model/index.ts'
import { command, option } from '../command.ts'
import type { Io } from '../io.ts'
import { outputOptions } from '../flags.ts'
import { fileRows, InputMeter } from '../sending/row-source.ts'
import {
  defaultUrl,
  readSendingOptions,
  webhookOptions,
  type ConfiguredTarget,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

/** Adds `evroute explain`. */
export const addExplainCommand = command({
  name: 'explain',
  summary: 'say what would become of calls',
  description: 'Prints whether each call would be sent, why, and the exact signed webhook.',
  arguments: [['<file>', 'calls as `send --file` reads them, - for stdin']],
  options: {
    config: option('--config <file>', "plan for a configuration's destinations"),
    source: option('--source <id>', 'the source that sends them, with --config'),
    ...webhookOptions,
    ...outputOptions(),
  },
  after: `Examples:
  evroute explain call.json
  evroute explain call.json --config evroute.config.json --source website
  echo '{"type":"track","userId":"u_1","event":"E"}' | evroute explain -`,
  run: async (values, { io }, [file]: [string]) => {
    // Explain always plans webhooks, so ignore EVROUTE_ENDPOINT.
    const { to = [io.env['EVROUTE_URL'] || defaultUrl] } = values
    const given = await readSendingOptions({ ...values, to, dryRun: true }, io)
    const options = { ...given, target: (await configuredTarget(values, io)) ?? given.target }
    const meter = new InputMeter(io)
    const rows = fileRows(file, {}, meter)
    return transfer({ io, options, rows, total: (parsed) => meter.total(parsed) })
  },
})

interface Given {
  readonly config: string | undefined
  readonly source: string | undefined
  readonly to: unknown
  readonly headers: unknown
  readonly secret: unknown
}

/** The destinations of `--config`; undefined without it. */
async function configuredTarget(given: Given, io: Io): Promise<ConfiguredTarget | undefined> {
  const { config, source, to, headers, secret } = given
  if (config === undefined) {
    if (source === undefined) return undefined
    throw new SettingError('--source', 'Cannot use --source without --config', 'Add --config.')
  }
  const refused = Object.entries({ to, header: headers, secret })
  const [flag] = refused.find(([, value]) => value !== undefined) ?? []
  if (flag !== undefined) {
    const message = `Cannot use --${flag} together with --config: the destinations have their own`
    throw new SettingError(`--${flag}`, message)
  }
  const { readFileOf } = await import('../configuration/read-for-command.ts')
  const { sources, destinations } = await readFileOf(config, io)
  const ids = sources.map(({ id }) => id)
  const sourceId = source ?? (ids.length === 1 ? ids[0] : undefined)
  if (sourceId !== undefined && ids.includes(sourceId)) {
    return { kind: 'configured', sourceId, destinations }
  }
  const message =
    sourceId === undefined
      ? 'Cannot tell which source sends the calls: the configuration has several'
      : `Cannot send calls as "${sourceId}": there is no source with this id`
  throw new SettingError('--source', message, `The sources are ${ids.join(', ')}.`)
}
