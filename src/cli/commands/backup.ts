import { plainText, SettingError } from '../../model/index.ts'
import { exitCodes } from '../exit-code.ts'
import { type AddCommand, writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { readStoreUrl } from '../secret.ts'

const examples = `
Examples:
  evroute backup evroute-2026-11-24.db --store sqlite:./evroute.db
  evroute serve --config restored.config.json     # "store": "sqlite:./evroute-2026-11-24.db"

A process may deliver from the store meanwhile. The backup has what was in the store when it began. A service
that is started on it sends what was pending then, so receivers may get a webhook twice. Users who were
deleted later are still in it. Archives are not part of it. PostgreSQL has pg_dump.

Exit codes: 0 the backup is on disk, 2 usage, 7 the store or the file cannot be used.`

/** Adds `evroute backup`. */
export const addBackupCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('backup')
    .summary('copy the store of a running service into a file')
    .description('Copies a store in SQLite as it is at one moment, also while a service uses it.')
    .argument('<file>', 'the backup; it must not exist')
    .option('--store <url>', 'the store: sqlite:<file>, env:NAME or @file (default: EVROUTE_STORE)')
    .addHelpText('after', examples)
  command.action(async (to: string) => {
    const { store } = command.opts<{ readonly store?: string }>()
    const from = await readStoreUrl(store, io)
    if (from === undefined) {
      const hint = 'Pass --store sqlite:<file>, or set EVROUTE_STORE.'
      throw new SettingError('--store', 'Cannot tell which store is meant', hint)
    }
    const { backUpStore } = await import('../../store/index.ts')
    const { bytes } = await backUpStore({ from, to })
    await writeData(io, `${plainText(to)}: ${formatCount(bytes)} bytes\n`)
    end(exitCodes.ok)
  })
}
