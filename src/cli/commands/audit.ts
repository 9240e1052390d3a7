import type { AddCommand } from '../io.ts'
import { addAccessFlags, type AccessFlags } from '../store-access/access-flags.ts'

const examples = `
Examples:
  evroute audit --store sqlite:./evroute.db
  evroute audit --store sqlite:./evroute.db --json
  evroute audit --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Exit codes: 0 the books balance, 1 they do not, 2 usage, or a token that is wrong, 7 the store cannot
be used or the service cannot be asked.`

/** Adds `evroute audit`. */
export const addAuditCommand: AddCommand = (program, context) => {
  const command = program
    .command('audit')
    .summary('check that the books of a store balance')
    .description(
      'Prints what must be true of the figures of a store, with the figures: those of its books, and what ' +
        'is in it against them. Names what does not hold, and by how much; a process may deliver meanwhile.',
    )
  addAccessFlags(command)
    .addHelpText('after', examples)
    .action(async () => {
      const [{ runReaders }, { auditStore }] = await Promise.all([
        import('../store-access/readers.ts'),
        import('../deliveries/audit.ts'),
      ])
      await runReaders({ flags: command.opts<AccessFlags>(), context }, auditStore)
    })
}
