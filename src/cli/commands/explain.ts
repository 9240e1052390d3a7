import type { AddCommand } from '../io.ts'
import { addOutputFlags } from '../flags.ts'
import { fileRows, InputMeter } from '../sending/row-source.ts'
import {
  addWebhookFlags,
  defaultUrl,
  readSendingOptions,
  type SendingFlags,
} from '../sending/sending-options.ts'
import { transfer } from '../sending/transfer.ts'

const examples = `
Examples:
  evroute explain call.json
  echo '{"type":"track","userId":"u_1","event":"E"}' | evroute explain -`

/** Adds `evroute explain`. */
export const addExplainCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('explain')
    .summary('say what would become of calls')
    .description('Prints whether each call would be sent, why, and the exact signed webhook.')
    .argument('<file>', 'calls as `send --file` reads them, - for stdin')
  addOutputFlags(addWebhookFlags(command))
    .addHelpText('after', examples)
    .action(async (file: string) => {
      const flags = command.opts<SendingFlags>()
      // Explain always plans webhooks, so ignore EVROUTE_ENDPOINT.
      const { to = [io.env['EVROUTE_URL'] || defaultUrl] } = flags
      const options = await readSendingOptions({ ...flags, to, dryRun: true }, io)
      const changes = { type: undefined, timestamp: undefined, integrations: undefined }
      const meter = new InputMeter(io)
      const rows = fileRows(file, changes, meter)
      end(await transfer({ io, options, rows, total: (parsed) => meter.total(parsed) }))
    })
}
