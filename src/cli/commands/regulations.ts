import { Option, type Command } from 'commander'
import { EvrouteError, SettingError, type RegulationType } from '../../model/index.ts'
import { repeatable, countFlag } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import type { DeleteCommand } from '../regulations/delete.ts'
import { regulationTexts, regulationTypesText } from '../regulations/regulation-types.ts'
import {
  addAccessFlags,
  readAccess,
  addStoreFlags,
  readStoreAccess,
  type AccessFlags,
} from '../store-access/access.ts'
import { onReaders } from '../store-access/on-readers.ts'

interface DeleteFlags extends AccessFlags {
  readonly userId?: readonly string[]
  readonly file?: string
  readonly idColumn?: readonly string[]
  readonly regulation?: RegulationType
  readonly source?: readonly string[]
  readonly dryRun?: boolean
}

const deleteExamples = `
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

Exit codes: 0 success, 2 usage, a wrong configuration or token, 3 rows were rejected, 4 a notification
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
    .addHelpText('after', deleteExamples)
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

interface ListFlags extends AccessFlags {
  readonly limit: number
}

const limitMax = 1_000_000
const limitDefault = 50

const exitCodesText =
  'Exit codes: 0 success, 2 usage, an unknown id, a wrong configuration or token, 7 the store or the\n' +
  'service cannot be used, 130 interrupted.'

const regulationsExamples = `
Examples:
  evroute regulations list
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations list --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

\`evroute delete\` makes them.

${exitCodesText}`

const listExamples = `
Examples:
  evroute regulations list
  evroute regulations list --store sqlite:./evroute.db --limit 500 --json

${exitCodesText}`

const showExamples = `
Examples:
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC --json

${exitCodesText}`

const releaseExamples = `
Examples:
  evroute regulations release "/srv/evroute/archive on web-1"

${exitCodesText}`

/** Adds `evroute regulations` with the commands below it. */
export const addRegulationsCommand: AddCommand = (program, context) => {
  const regulations = program
    .command('regulations')
    .summary('list and show deletion requests')
    .description(
      'Lists the deletion requests of a store or a running service, and shows what each one erased and which ' +
        'notifications it sent. Another process may deliver from the store meanwhile.',
    )
    .addHelpText('after', regulationsExamples)
  addList(regulations, context)
  addShow(regulations, context)
  addRelease(regulations, context)
}

function addList(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('list')
    .summary('list regulations, newest first')
    .description('Lists regulations, newest first.')
    .option('--limit <n>', 'list at most this many', countFlag(1, limitMax), limitDefault)
  addAccessFlags(command)
    .addHelpText('after', listExamples)
    .action(async () => {
      const flags = command.opts<ListFlags>()
      await onReaders({ flags, context }, async (run) => {
        const { listRegulations } = await import('../regulations/show.ts')
        return listRegulations({ limit: flags.limit }, run)
      })
    })
}

function addShow(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('show')
    .summary('show what a regulation erased and sent')
    .description(
      'Shows the users of a regulation, what it erased from the store and from archives, and the status of ' +
        'the notifications from each source to each destination.',
    )
    .argument('<id>', 'its id, as `regulations list` prints it')
  addAccessFlags(command)
    .addHelpText('after', showExamples)
    .action((id: string) =>
      onReaders({ flags: command.opts<AccessFlags>(), context }, async (run) => {
        const { showRegulation } = await import('../regulations/show.ts')
        return showRegulation(id, run)
      }),
    )
}

function addRelease(regulations: Command, context: CommandContext): void {
  const command = regulations
    .command('release')
    .summary('stop waiting for an archive that is lost')
    .description(
      'Releases an archive on a machine that will never run a service again. Regulations that wait for it ' +
        'end, and record that it was not erased. If a service starts with that archive again, regulations ' +
        'wait for it again.',
    )
    .argument('<archive>', 'its name, as `regulations show` prints it')
  addStoreFlags(command)
    .addHelpText('after', releaseExamples)
    .action(async (archive: string) => {
      const access = await readStoreAccess(command.opts(), context.io)
      const { releaseArchive } = await import('../regulations/show.ts')
      context.end(await releaseArchive(archive, access, context.io))
    })
}
