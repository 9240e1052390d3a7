import { systemClock } from '../../runtime/index.ts'
import type { AddCommand } from '../command.ts'
import { addLogFlags, readStoreUrl, type LogFlags } from '../delivery-log/log-flags.ts'

const examples = `
Examples:
  evroute audit --store sqlite:./evroute.db
  evroute audit --store sqlite:./evroute.db --json

Exit codes: 0 the books balance, 1 they do not, 2 usage, 7 the store cannot be used.`

/** Adds `evroute audit`. */
export const addAuditCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('audit')
    .summary('check that the books of a store balance')
    .description(
      'Prints what must be true of the figures of a store, with the figures: those of its books, and what ' +
        'is in it against them. Names what does not hold, and by how much; a process may deliver meanwhile.',
    )
  addLogFlags(command)
    .addHelpText('after', examples)
    .action(async () => {
      const flags = command.opts<LogFlags>()
      const url = readStoreUrl(flags, io)
      const view = { json: flags.json ?? false, color: flags.color }
      const [{ withDeliveryLog }, { auditStore }] = await Promise.all([
        import('../delivery-log/open-log.ts'),
        import('../delivery-log/audit.ts'),
      ])
      const nowMs = systemClock.nowMs()
      end(
        await withDeliveryLog({ url, write: false }, (log) => auditStore({ log, io, nowMs, view })),
      )
    })
}
