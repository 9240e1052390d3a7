import type { AddCommand } from '../io.ts'
import { readSecret } from '../secret.ts'

interface MigrateFlags {
  readonly from: string
  readonly to: string
  readonly dryRun?: boolean
  readonly json?: boolean
  readonly color: boolean
}

const examples = `
Examples:
  evroute migrate --from sqlite:./evroute.db --to postgres://evroute@db.example.com/evroute --dry-run
  evroute migrate --from sqlite:./evroute.db --to env:EVROUTE_DATABASE
  evroute migrate --from sqlite:./evroute.db --to @/run/secrets/database-url --json

First end the process that delivers from the file; others may still read it. The database must be empty.
Everything moves in one transaction. After Ctrl-C, a crash or a lost connection the database is still
empty, and you can run the command again. At the end both sides are compared, and no process can deliver
from the file any more. It can still be read. It also keeps users who are erased later, so remove it when
you no longer need it.

Exit codes: 0 moved, now or before, 1 the database stored something else, 2 usage, 7 the file or the
database cannot be used, 130 interrupted.`

/** Adds `evroute migrate`. */
export const addMigrateCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('migrate')
    .summary('move a store from a file into PostgreSQL')
    .description(
      'Moves a store: deliveries with their history, the messageIds of deduplication, the ledger, audiences, ' +
        'deletion requests and suppressed users. Prints the row counts of both sides.',
    )
    .requiredOption('--from <url>', 'the store to move: sqlite:<file>')
    .requiredOption('--to <url>', 'the database: postgres://..., env:NAME or @file')
    .option('-n, --dry-run', 'only show what would move')
    .option('--json', 'NDJSON records on stdout')
    .option('--no-color', 'no colours')
    .addHelpText('after', examples)
    .action(async () => {
      const { from, dryRun = false, json = false, color, ...given } = command.opts<MigrateFlags>()
      const to = (await readSecret(given.to, io, '--to')) ?? given.to
      const run = { places: { from, to }, io, view: { json, color } }
      // Load both engines only now.
      const { migrate, planMigrate } = await import('../migrating/migrate.ts')
      end(await (dryRun ? planMigrate(run) : migrate(run)))
    })
}
