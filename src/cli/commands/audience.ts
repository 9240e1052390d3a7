import type { ComputationClass } from '../../audience/index.ts'
import { SettingError } from '../../model/index.ts'
import { command, commandFamily, flag, option, type ValuesOf } from '../command.ts'
import { accessOptions, countFlag, idColumnsOption } from '../flags.ts'
import { usageError } from '../output/error.ts'

const membersMax = 1_000_000

const whereText =
  'If `evroute serve` is delivering from the store, or the store is in memory, the command goes through the\n' +
  'admin API of that service. Otherwise the command delivers. A dry run only reads the store.'

const exitCodesText =
  'Exit codes: 0 success; 2 usage, a wrong configuration or token; 3 rows were rejected; 4 a delivery\n' +
  'failed or is pending; 7 the store or the service cannot be used, or another sync is running; 130 interrupted.'

const keyText = 'its key, as `audience list` prints it'

const syncOptions = {
  name: option('--name <text>', 'display name, from which the key is made'),
  key: option('--key <property>', 'key of the audience: the property name in the calls'),
  computationClass: option<ComputationClass>(
    '--class <class>',
    'trait if the list has a value for each user',
  )
    .choices(['audience', 'trait'])
    .orShown('audience'),
  file: option('-f, --file <path>', 'the list, - for stdin: CSV, NDJSON, JSON, gz').needed(),
  source: option('--source <id>', 'the source that the calls belong to'),
  userIds: idColumnsOption,
  value: option('--value-column <name>', 'the column with the value of a trait (default: value)'),
  isDryRun: flag('-n, --dry-run', 'only show what would change'),
  ...accessOptions,
}

/** The parsed options of `evroute audience sync`. */
export type SyncValues = ValuesOf<typeof syncOptions>

const addSync = command({
  name: 'sync',
  summary: 'sync the members of an audience with a list',
  description:
    'Syncs the members of an audience with a list, and sends an identify call for each user who enters, ' +
    'leaves, or has a new value. The first sync creates the audience.',
  options: syncOptions,
  after: `Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv -n
  evroute audience sync --key lifetime_value --class trait --file values.csv \\
    --value-column total
  set -o pipefail  # otherwise the exit code hides a failure of psql
  psql -c "copy (select id from vip) to stdout csv header" |
    evroute audience sync --key vip --file -
  evroute audience sync --key vip --file vip.csv \\
    --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

The list is CSV with a header, NDJSON or JSON, optionally gzipped. It must contain every member: those
who are not in it leave, unless rows were rejected. A header without rows, or [], removes all members; an
empty file is refused. To continue after an interruption, run the same command again.

${whereText}

${exitCodesText}`,
  run: async (values, { io }) => {
    checkSyncValues(values)
    const { runOperations } = await import('../store-access/operations.ts')
    const { syncList } = await import('../audiences/change.ts')
    return runOperations(values, io, (run) => syncList(values, run))
  },
})

const addList = command({
  name: 'list',
  summary: 'list audiences and computed traits',
  description: 'Lists audiences and computed traits, ordered by key.',
  options: accessOptions,
  after: `Examples:
  evroute audience list
  evroute audience list --store sqlite:./evroute.db --json

${exitCodesText}`,
  run: async (values, { io }) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { listAudiences } = await import('../audiences/show.ts')
    return runReaders(values, io, (run) => listAudiences(run))
  },
})

const addShow = command({
  name: 'show',
  summary: 'show an audience and its first members',
  description: 'Shows an audience, or a computed trait, and its first members.',
  arguments: [['<key>', keyText]],
  options: {
    members: option('--members <n>', 'show at most this many', countFlag(0, membersMax)).orShown(
      10,
    ),
    ...accessOptions,
  },
  after: `Examples:
  evroute audience show first_time_shopper
  evroute audience show first_time_shopper --members 1000 --json

${exitCodesText}`,
  run: async (values, { io }, [key]: [string]) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { showAudience } = await import('../audiences/show.ts')
    return runReaders(values, io, (run) => showAudience({ key, membersMax: values.members }, run))
  },
})

const addRemove = command({
  name: 'remove',
  summary: 'remove an audience with all its members',
  description:
    'Removes all members of an audience or a computed trait, each with an identify call, and deletes it.',
  arguments: [['<key>', keyText]],
  options: { isDryRun: flag('-n, --dry-run', 'only show who would leave'), ...accessOptions },
  after: `Examples:
  evroute audience remove first_time_shopper --dry-run
  evroute audience remove first_time_shopper

${whereText}

${exitCodesText}`,
  run: async (values, { io }, [key]: [string]) => {
    const { runOperations } = await import('../store-access/operations.ts')
    const { removeMembers } = await import('../audiences/change.ts')
    return runOperations(values, io, (run) => removeMembers(key, run))
  },
})

/** Adds `evroute audience` with the commands below it. */
export const addAudienceCommand = commandFamily(
  {
    name: 'audience',
    summary: 'sync audiences and computed traits with lists, and show them',
    description:
      'Syncs the members of an audience with a list, and sends an identify call for each user who enters or ' +
      'leaves. The call has a trait named after the audience in snake_case, which is true or false. A ' +
      'computed trait has a value for each user.',
    after: `Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --key lifetime_value --class trait --file values.csv -n
  evroute audience list
  evroute audience show first_time_shopper --members 100
  evroute audience remove first_time_shopper

${whereText}

${exitCodesText}`,
  },
  [addSync, addList, addShow, addRemove],
)

function checkSyncValues({ name, key, computationClass, value }: SyncValues): void {
  if (name === undefined && key === undefined) {
    throw usageError('Cannot tell which audience is meant', 'Pass --name or --key.')
  }
  if (value !== undefined && computationClass === 'audience') {
    throw new SettingError(
      '--value-column',
      'Cannot use --value-column with an audience: its members have no values',
      'Pass --class trait for a computed trait.',
    )
  }
}
