import { SettingError, type RegulationType } from '../../model/index.ts'
import { command, commandFamily, flag, option, type ValuesOf } from '../command.ts'
import { accessOptions, countFlag, idColumnsOption, repeatable, storeOptions } from '../flags.ts'
import { usageError } from '../output/error.ts'
import { regulationTexts, regulationTypesText } from '../regulations/regulation-types.ts'
import type { DeleteCommand } from '../regulations/delete.ts'

const deleteOptions = {
  userIds: option('--user-id <id>', 'a user, repeatable', repeatable).or([]),
  file: option('-f, --file <path>', 'a list of users, - for stdin: CSV, NDJSON, JSON, gz'),
  idColumns: idColumnsOption,
  type: option<RegulationType>('--regulation <type>', 'what to do, see below').choices(
    Object.keys(regulationTexts),
  ),
  sourceIds: option(
    '--source <id>',
    'only events of this source, repeatable (default: all)',
    repeatable,
  ),
  dryRun: flag('-n, --dry-run', 'only count users and notifications'),
  ...accessOptions,
}

/** Adds `evroute delete`. */
export const addDeleteCommand = command({
  name: 'delete',
  summary: 'erase users, notify destinations, drop later calls',
  description:
    'Erases users from the store and from archives, sends a delete notification to each destination of ' +
    'the affected sources, and drops later calls. --regulation chooses among these.',
  options: deleteOptions,
  after: `Regulations:
${regulationTypesText()}

Examples:
  evroute delete --user-id u_1 --regulation SUPPRESS_WITH_DELETE
  evroute delete --file left.csv --id-column id --regulation DELETE_ONLY -n
  evroute delete --file - --regulation UNSUPPRESS < back.ndjson
  evroute delete --user-id u_1 --regulation DELETE_ONLY \\
    --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

The list is CSV with a header, NDJSON or JSON, optionally gzipped, with up to 1,000,000 users. The whole
list is read before anything is stored. A regulation covers up to 5,000 users; a longer list becomes
several. \`evroute regulations show <id>\` shows what a regulation erased and sent.

UNSUPPRESS with --source does not lift a suppression that covers all sources; to lift it, omit --source.
Users are erased only from the archives in the current configuration. If a source was removed, or now has
a different archive folder, erase them from the old archive yourself.

If \`evroute serve\` is delivering from the store, or the store is in memory, the command goes through the
admin API of that service. Otherwise it erases and notifies by itself, and waits for both to finish.

Exit codes: 0 success; 2 usage, a wrong configuration or token; 3 rows were rejected; 4 a notification
failed or is pending; 7 an archive, the store or the service cannot be used, or the store's file cannot
be rewritten, such as on a full disk; 130 interrupted.`,
  run: async (values, { io }) => {
    const deletion = readDeletion(values)
    const { deleteUsers, planDeletion } = await import('../regulations/delete.ts')
    if (values.dryRun) return planDeletion(deletion, values, io)
    const { runOperations } = await import('../store-access/operations.ts')
    return runOperations(values, io, (run) => deleteUsers(deletion, run))
  },
})

function readDeletion(values: ValuesOf<typeof deleteOptions>): DeleteCommand {
  const { userIds, file, idColumns, type, sourceIds = null } = values
  if (type === undefined) {
    throw usageError(
      'Cannot tell what to do with the users',
      `Pass --regulation with one of these:\n${regulationTypesText()}`,
    )
  }
  if (userIds.length === 0 && file === undefined) {
    const hint = 'Name users with --user-id, or a list of them with --file.'
    throw usageError('Cannot tell which users are meant', hint)
  }
  if (file !== undefined && userIds.length > 0) {
    throw new SettingError('--user-id', 'Cannot use --user-id together with --file')
  }
  if (file === undefined && idColumns.length > 0) {
    throw new SettingError('--id-column', 'Cannot use --id-column without --file')
  }
  if (userIds.includes('')) {
    const hint = 'Check the variable that it comes from.'
    throw new SettingError('--user-id', 'Cannot use an empty --user-id', hint)
  }
  return { userIds, file, idColumns, type, sourceIds }
}

const limitMax = 1_000_000

const exitCodesText =
  'Exit codes: 0 success; 2 usage, an unknown id, a wrong configuration or token; 7 the store or the\n' +
  'service cannot be used; 130 interrupted.'

const addList = command({
  name: 'list',
  summary: 'list regulations, newest first',
  description: 'Lists regulations, newest first.',
  options: {
    limit: option('--limit <n>', 'list at most this many', countFlag(1, limitMax)).orShown(50),
    ...accessOptions,
  },
  after: `Examples:
  evroute regulations list
  evroute regulations list --store sqlite:./evroute.db --limit 500 --json

${exitCodesText}`,
  run: async (values, { io }) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { listRegulations } = await import('../regulations/show.ts')
    return runReaders(values, io, (run) => listRegulations(values, run))
  },
})

const addShow = command({
  name: 'show',
  summary: 'show what a regulation erased and sent',
  description:
    'Shows the users of a regulation, what it erased from the store and from archives, and the status of ' +
    'the notifications from each source to each destination.',
  arguments: [['<id>', 'its id, as `regulations list` prints it']],
  options: accessOptions,
  after: `Examples:
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC --json

${exitCodesText}`,
  run: async (values, { io }, [id]: [string]) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { showRegulation } = await import('../regulations/show.ts')
    return runReaders(values, io, (run) => showRegulation(id, run))
  },
})

const addRelease = command({
  name: 'release',
  summary: 'stop waiting for an archive that is lost',
  description:
    'Releases an archive that is on a machine that will never run a service again. Regulations stop waiting ' +
    'for the archive, and record that its events were not erased. If a service starts with the archive ' +
    'again, these regulations wait again.',
  arguments: [['<archive>', 'its name, as `regulations show` prints it']],
  options: storeOptions,
  after: `Examples:
  evroute regulations release "/srv/evroute/archive on web-1"

${exitCodesText}`,
  run: async (values, { io }, [archive]: [string]) =>
    (await import('../regulations/show.ts')).releaseArchive(archive, values, io),
})

/** Adds `evroute regulations` with the commands below it. */
export const addRegulationsCommand = commandFamily(
  {
    name: 'regulations',
    summary: 'list and show deletion requests',
    description:
      'Lists the deletion requests of a store or a running service, and shows what each one erased and which ' +
      'notifications it sent. This is safe while another process is delivering from the store.',
    after: `Examples:
  evroute regulations list
  evroute regulations show reg_1vBTfYLhNxnQyHkTQTUGvpuGbVC
  evroute regulations list --api http://127.0.0.1:4001 --token @admin-token

\`evroute delete\` creates regulations.

${exitCodesText}`,
  },
  [addList, addShow, addRelease],
)
