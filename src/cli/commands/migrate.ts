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

End the process that delivers from the file first; it can be read meanwhile. The database has to be
empty. All moves in one transaction: after Ctrl-C, a crash or a lost connection nothing is in the
database, and the same command begins anew. Once all is there and was compared, no process can deliver
from the file, and it can still be read. It keeps what it holds, also of users who are erased later:
remove it when you no longer need it.

Exit codes: 0 moved, now or before, 1 the database stored something else, 2 usage, 7 the file or the
database cannot be used, 130 interrupted.`

/** Adds `evroute migrate`. */
export const addMigrateCommand: AddCommand = (program, { io, end }) => {
  const command = program
    .command('migrate')
    .summary('move a store from a file into PostgreSQL')
    .description(
      'Moves a store: deliveries with all that happened to them, what deduplication remembers, the books, ' +
        'audiences, deletion requests and suppressed users. Prints what is on both sides.',
    )
    .requiredOption('--from <url>', 'the store that moves: sqlite:<file>')
    .requiredOption('--to <url>', 'where it goes: postgres://..., env:NAME or @file')
    .option('--dry-run', 'only tell what would move')
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
