import type { AddCommand } from '../io.ts'
import { addAccessFlags, type AccessFlags } from '../store-access/access.ts'
import { onReaders } from '../store-access/on-readers.ts'

const examples = `
Examples:
  evroute audit
  evroute audit --store sqlite:./evroute.db --json
  evroute audit --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Exit codes: 0 the ledger balances, 1 it does not, 2 usage or a wrong token, 7 the store or the service
cannot be used.`

/** Adds `evroute audit`. */
export const addAuditCommand: AddCommand = (program, context) => {
  const command = program
    .command('audit')
    .summary('check that the ledger of a store balances')
    .description(
      'Compares the ledger of a store with its rows, and prints each equation that must hold. Another ' +
        'process may deliver from the store meanwhile.',
    )
  addAccessFlags(command)
    .addHelpText('after', examples)
    .action(() =>
      onReaders({ flags: command.opts<AccessFlags>(), context }, async (run) => {
        const { auditStore } = await import('../deliveries/audit.ts')
        return auditStore(run)
      }),
    )
}
