import type { AddCommand } from '../io.ts'
import { fileRows } from '../sending/row-source.ts'
import {
  addOutputFlags,
  addWebhookFlags,
  defaultUrl,
  readSendingOptions,
  type SendingFlags,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const examples = `
Examples:
  evroute explain call.json
  echo '{"type":"track","userId":"u_1","event":"E","integrations":{"webhooks":true,"All":false}}' \\
    | evroute explain -`

/** Adds `evroute explain`. */
export const addExplainCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('explain')
    .summary('say what would become of calls')
    .description(
      'Prints for every call of a file whether it is accepted and sent, why, and the exact webhook ' +
        'with its signature. Nothing is sent.',
    )
    .argument('<file>', 'calls in any format that `send --file` reads, - for stdin')
  addOutputFlags(addWebhookFlags(command))
    .addHelpText('after', examples)
    .action(async (file: string) => {
      const flags = command.opts<SendingFlags>()
      // Explain always plans webhooks, so ignore EVROUTE_ENDPOINT.
      const { to = [io.env['EVROUTE_URL'] || defaultUrl] } = flags
      const options = await readSendingOptions({ ...flags, to, dryRun: true }, io)
      const changes = { type: undefined, timestamp: undefined, integrations: undefined }
      end(await transfer({ io, options, rows: fileRows(file, changes, io) }))
    })
}
