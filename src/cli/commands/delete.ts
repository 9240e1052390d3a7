import { Option } from 'commander'
import { EvrouteError, SettingError, type RegulationType } from '../../model/index.ts'
import { repeatable } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import type { DeleteCommand } from '../regulations/delete.ts'
import { regulationTexts, regulationTypesText } from '../regulations/regulation-types.ts'
import { addAccessFlags, readAccess, type AccessFlags } from '../store-access/access-flags.ts'

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

The list is CSV with a header, NDJSON or JSON, also gzipped, of up to 1,000,000 users, and is read to its
end before anything is stored. One regulation is about up to 5,000 users; more make several. What was
erased and sent is told by \`evroute regulations show <id>\`.

Who was suppressed for all sources stays so with UNSUPPRESS --source: lift that without --source.
Archives are found where the configuration has them now: one in a folder that a source had before, or
of a source that is gone, is yours to erase.

Where \`evroute serve\` delivers from the store, or the store is in memory, that service is asked through
the admin API of the configuration; else this command erases and notifies by itself, and waits for it.

Exit codes: 0 as asked, 2 usage, a configuration or a token that is wrong, 3 rows were rejected, 4 a
notification failed or waits, 7 an archive or the store cannot be used, or its file not be rewritten yet,
or the service cannot be asked, 130 interrupted.`

/** Adds `evroute delete`. */
export const addDeleteCommand: AddCommand = (program, context) => {
  const command = program
    .command('delete')
    .summary('erase what is kept about users, tell destinations, drop later calls')
    .description(
      'Asks for the deletion of users: what the store and archives keep about them is erased, each ' +
        'destination of the affected sources gets a delete notification, and later calls are dropped, as ' +
        'far as the regulation asks for that.',
    )
    .option('--user-id <id>', 'a user, repeatable', repeatable)
    .option('-f, --file <path>', 'a list of users, - for stdin: CSV, NDJSON, JSON, gz')
    .option(
      '--id-column <name>',
      'a column with userIds, repeatable (default: userId, user_id or id)',
      repeatable,
    )
    .addOption(
      new Option('--regulation <type>', 'what is to be done, see below').choices(
        Object.keys(regulationTexts),
      ),
    )
    .option(
      '--source <id>',
      'only what this source has sent, repeatable (default: all)',
      repeatable,
    )
    .option(
      '-n, --dry-run',
      'say how many users and notifications there would be, and store nothing',
    )
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
