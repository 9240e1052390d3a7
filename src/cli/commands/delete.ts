import { Option } from 'commander'
import { EvrouteError, SettingError, type RegulationType } from '../../model/index.ts'
import { repeatable } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import type { DeleteCommand } from '../regulations/delete.ts'
import { regulationTexts, regulationTypesText } from '../regulations/regulation-types.ts'
import { addAccessFlags, readAccess, type AccessFlags } from '../store-access/access.ts'

interface DeleteFlags extends AccessFlags {
  readonly userId?: readonly string[]
  readonly file?: string
  readonly idColumn?: readonly string[]
  readonly regulation?: RegulationType
  readonly source?: readonly string[]
  readonly dryRun?: boolean
}

const examples = `
Regulations:
${regulationTypesText()}

Examples:
  evroute delete --user-id u_1 --regulation SUPPRESS_WITH_DELETE
  evroute delete --file left.csv --id-column customer --regulation DELETE_ONLY --dry-run
  evroute delete --file - --regulation UNSUPPRESS < back.ndjson
  evroute delete --user-id u_1 --regulation DELETE_ONLY --api http://127.0.0.1:4001 --token env:TOKEN

The list is CSV with a header, NDJSON or JSON, also gzipped, of up to 1,000,000 users. The whole list is
read before anything is stored. A regulation has up to 5,000 users; a longer list makes several.
\`evroute regulations show <id>\` shows what one erased and sent.

UNSUPPRESS with --source does not lift a suppression of all sources; leave --source out to lift it.
Only the archives in the current configuration are erased. Erase the archive of a removed source, or in an
earlier folder of a source, yourself.

If \`evroute serve\` delivers from the store, or the store is in memory, the command asks that service
through the admin API of the configuration. Otherwise it erases and notifies by itself, and waits.

Exit codes: 0 as asked, 2 usage, a wrong configuration or token, 3 rows were rejected, 4 a notification
failed or waits, 7 an archive, the store or the service cannot be used, or the file of the store cannot
be rewritten yet, 130 interrupted.`

/** Adds `evroute delete`. */
export const addDeleteCommand: AddCommand = (program, context) => {
  const command = program
    .command('delete')
    .summary('erase users, notify destinations, drop later calls')
    .description(
      'Erases users from the store and from archives, sends a delete notification to each destination of ' +
        'the affected sources, and drops later calls. The regulation says which of these to do.',
    )
    .option('--user-id <id>', 'a user, repeatable', repeatable)
    .option('-f, --file <path>', 'a list of users, - for stdin: CSV, NDJSON, JSON, gz')
    .option(
      '--id-column <name>',
      'a column with userIds, repeatable (default: userId, user_id or id)',
      repeatable,
    )
    .addOption(
      new Option('--regulation <type>', 'what to do, see below').choices(
        Object.keys(regulationTexts),
      ),
    )
    .option('--source <id>', 'only events of this source, repeatable (default: all)', repeatable)
    .option('-n, --dry-run', 'only count users and notifications')
  addAccessFlags(command)
    .addHelpText('after', examples)
    .action(() => runDelete(command.opts<DeleteFlags>(), context))
}

async function runDelete(flags: DeleteFlags, context: CommandContext): Promise<void> {
  const command = readCommand(flags)
  if (flags.dryRun === true) {
    const { io, end } = context
    const access = await readAccess(flags, io)
    const { planDeletion } = await import('../regulations/plan-deletion.ts')
    end(await planDeletion(command, { access, io, json: flags.json ?? false }))
    return
  }
  // Load the delivery code only now, so that help and usage errors appear at once.
  const [{ runOperations }, { deleteUsers }] = await Promise.all([
    import('../store-access/operations.ts'),
    import('../regulations/delete.ts'),
  ])
  await runOperations({ flags, context }, (run) => deleteUsers(command, run))
}

function readCommand(flags: DeleteFlags): DeleteCommand {
  const { userId: userIds = [], file, idColumn: idColumns = [], regulation: type } = flags
  if (type === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot tell what is to be done about the users',
      hint: `Pass --regulation with one of these:\n${regulationTypesText()}`,
    })
  }
  if (userIds.length === 0 && file === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot tell whom it is about',
      hint: 'Name users with --user-id, or a list of them with --file.',
    })
  }
  refuseTogether(flags)
  return { userIds, file, idColumns, type, sourceIds: flags.source ?? null }
}

function refuseTogether({ userId = [], file, idColumn }: DeleteFlags): void {
  if (file !== undefined && userId.length > 0) {
    throw new SettingError('--user-id', 'Cannot use --user-id together with --file')
  }
  if (file === undefined && idColumn !== undefined) {
    throw new SettingError('--id-column', 'Cannot use --id-column without --file')
  }
  if (userId.includes('')) {
    throw new SettingError(
      '--user-id',
      'Cannot use an empty --user-id',
      'Check where it comes from.',
    )
  }
}
