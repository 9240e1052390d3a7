import { SettingError } from '../../model/index.ts'
import type { AddCommand, Io } from '../io.ts'
import { addOutputFlags } from '../flags.ts'
import { fileRows, InputMeter } from '../sending/row-source.ts'
import {
  addWebhookFlags,
  defaultUrl,
  readSendingOptions,
  type ConfiguredTarget,
  type SendingFlags,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const examples = `
Examples:
  evroute explain call.json
  evroute explain call.json --config evroute.config.json --source website
  echo '{"type":"track","userId":"u_1","event":"E"}' | evroute explain -`

interface ExplainFlags extends SendingFlags {
  readonly config?: string
  readonly source?: string
}

/** Adds `evroute explain`. */
export const addExplainCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('explain')
    .summary('say what would become of calls')
    .description('Prints whether each call would be sent, why, and the exact signed webhook.')
    .argument('<file>', 'calls as `send --file` reads them, - for stdin')
    .option('--config <file>', "plan for a configuration's destinations")
    .option('--source <id>', 'the source that sends them, with --config')
  addOutputFlags(addWebhookFlags(command))
    .addHelpText('after', examples)
    .action(async (file: string) => {
      const flags = command.opts<ExplainFlags>()
      // Explain always plans webhooks, so ignore EVROUTE_ENDPOINT.
      const { to = [io.env['EVROUTE_URL'] || defaultUrl] } = flags
      const given = await readSendingOptions({ ...flags, to, dryRun: true }, io)
      const options = { ...given, target: (await configuredTarget(flags, io)) ?? given.target }
      const changes = { type: undefined, timestamp: undefined, integrations: undefined }
      const meter = new InputMeter(io)
      const rows = fileRows(file, changes, meter)
      end(await transfer({ io, options, rows, total: (parsed) => meter.total(parsed) }))
    })
}

/** The destinations of `--config`; undefined without it. */
async function configuredTarget(
  flags: ExplainFlags,
  io: Io,
): Promise<ConfiguredTarget | undefined> {
  const { config, source } = flags
  if (config === undefined) {
    if (source === undefined) return undefined
    throw new SettingError('--source', 'Cannot use --source without --config', 'Add --config.')
  }
  const flag = (['to', 'header', 'secret'] as const).find((name) => flags[name] !== undefined)
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
