import { plainText } from '../../model/index.ts'
import { command, flag, option } from '../command.ts'
import { exitCodes } from '../exit-code.ts'
import { accessOptions, storeOptions } from '../flags.ts'
import { writeData } from '../io.ts'
import { formatCount } from '../output/numbers.ts'
import { commandOutput } from '../output/style.ts'
import { readGiven } from '../secret.ts'

/** Adds `evroute audit`. */
export const addAuditCommand = command({
  name: 'audit',
  summary: 'check that the ledger of a store balances',
  description:
    'Compares the ledger of a store with its rows, and prints each equation that must hold. This is safe ' +
    'while another process is delivering from the store.',
  options: accessOptions,
  after: `Examples:
  evroute audit
  evroute audit --store sqlite:./evroute.db --json
  evroute audit --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Exit codes: 0 the ledger balances; 1 it does not; 2 usage or a wrong token; 7 the store or the service
cannot be used.`,
  run: async (values, { io }) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { auditStore } = await import('../deliveries/show.ts')
    return runReaders(values, io, (run) => auditStore(run))
  },
})

/** Adds `evroute backup`. */
export const addBackupCommand = command({
  name: 'backup',
  summary: 'copy the store of a running service into a file',
  description: 'Copies a SQLite store, even while a process is delivering from it.',
  arguments: [['<file>', 'the file to write the backup to; it must not exist yet']],
  options: storeOptions,
  after: `Examples:
  evroute backup evroute-2026-11-24.db
  evroute backup evroute-2026-11-24.db --store sqlite:./evroute.db
  evroute serve --config restored.config.json

The backup is the store as it was when the command began. A service started from it sends the deliveries
that were pending then, so receivers may get some webhooks twice. The backup still contains users who were
deleted later, and does not include archives. For PostgreSQL, use pg_dump.
To restore a backup, name it in the configuration: "store": "sqlite:./evroute-2026-11-24.db".

Exit codes: 0 the backup is on disk; 2 usage or a wrong configuration; 7 the store or the file cannot be used.`,
  run: async (values, { io }, [to]: [string]) => {
    const { storeUrlOf } = await import('../store-access/readers.ts')
    const from = await storeUrlOf(values, io)
    const { backUpStore } = await import('../../store/index.ts')
    const { bytes } = await backUpStore({ from, to })
    await writeData(io, `${plainText(to)}: ${formatCount(bytes)} bytes\n`)
    return exitCodes.ok
  },
})

/** Adds `evroute migrate`. */
export const addMigrateCommand = command({
  name: 'migrate',
  summary: 'move a store from a file into PostgreSQL',
  description:
    'Moves a store: deliveries with their history, the messageIds kept for deduplication, the ledger, audiences, ' +
    'deletion requests and suppressed users. Prints the row counts of both sides.',
  options: {
    from: option('--from <url>', 'the store to move: sqlite:<file>').needed(),
    to: option('--to <url>', 'the database: postgres://..., env:NAME or @file').needed(),
    isDryRun: flag('-n, --dry-run', 'only show what would move'),
    json: flag('--json', 'write NDJSON records to stdout'),
    color: flag('--no-color', 'print without colours'),
  },
  after: `Examples:
  evroute migrate --from sqlite:evroute.db --to postgres://db/evroute --dry-run
  evroute migrate --from sqlite:evroute.db --to env:EVROUTE_DATABASE
  evroute migrate --from sqlite:evroute.db --to @/run/secrets/database --json

First stop the process that delivers from the file; other processes may still read it. The database must be
empty; until the command ends, no process can open it. Everything moves in one transaction. After Ctrl-C, a
crash or a lost connection, run the command again before you use either store: it starts over, or reports
that everything has moved. At the end, both sides are compared. From then on, the file can only be read. It
still contains users who are erased later, so remove it when you no longer need it.

Exit codes: 0 moved, now or earlier; 1 the rows would differ, so nothing moved; 2 usage; 7 the file or the
database cannot be used; 130 interrupted.`,
  run: async ({ from, to: given, isDryRun, ...view }, { io }) => {
    const to = await readGiven(given, io, '--to')
    const { migrate, planMigrate } = await import('../migrating/migrate.ts')
    const output = commandOutput(view, io)
    return (isDryRun ? planMigrate : migrate)({ stores: { from, to }, ...output })
  },
})
