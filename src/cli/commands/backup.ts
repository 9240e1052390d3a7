import { plainText } from '../../model/index.ts'
import { exitCodes } from '../exit-code.ts'
import { type AddCommand, writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { addStoreFlags, readStoreAccess, storeUrlOf } from '../store-access/access.ts'

const examples = `
Examples:
  evroute backup evroute-2026-11-24.db
  evroute backup evroute-2026-11-24.db --store sqlite:./evroute.db
  evroute serve --config restored.config.json     # "store": "sqlite:./evroute-2026-11-24.db"

A process may deliver from the store meanwhile. The backup is the store as it was when the command began. A
service that starts on it sends the deliveries that were pending then, so receivers may get a webhook twice.
Users who were deleted later are still in it. Archives are not part of it. For PostgreSQL, use pg_dump.

Exit codes: 0 the backup is on disk, 2 usage or a wrong configuration, 7 the store or the file cannot be used.`

/** Adds `evroute backup`. */
export const addBackupCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('backup')
    .summary('copy the store of a running service into a file')
    .description('Copies a store in SQLite as it is at one moment, even while a service uses it.')
    .argument('<file>', 'the backup; it must not exist')
  addStoreFlags(command)
    .addHelpText('after', examples)
    .action(async (to: string) => {
      const from = await storeUrlOf(await readStoreAccess(command.opts(), io), io)
      const { backUpStore } = await import('../../store/index.ts')
      const { bytes } = await backUpStore({ from, to })
      await writeData(io, `${plainText(to)}: ${formatCount(bytes)} bytes\n`)
      end(exitCodes.ok)
    })
}
