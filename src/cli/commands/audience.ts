import { Option, type Command } from 'commander'
import type { ComputationClass } from '../../audience/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { ExitCode } from '../exit-code.ts'
import { countFlag, repeatable } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import { addAccessFlags, type AccessFlags, type CalledCommand } from '../store-access/access.ts'
import { onReaders } from '../store-access/on-readers.ts'
import type { AudiencesRun } from '../store-access/operations.ts'

interface SyncFlags extends AccessFlags {
  readonly name?: string
  readonly key?: string
  readonly class: ComputationClass
  readonly file: string
  readonly source?: string
  readonly idColumn?: readonly string[]
  readonly valueColumn?: string
  readonly dryRun?: boolean
}

interface ShowFlags extends AccessFlags {
  readonly members: number
}

interface RemoveFlags extends AccessFlags {
  readonly dryRun?: boolean
}

const membersMax = 1_000_000
const membersDefault = 10
const classes: readonly ComputationClass[] = ['audience', 'trait']

const whereText =
  'If `evroute serve` delivers from the store, or the store is in memory, the command asks that service\n' +
  'through the admin API of the configuration. Otherwise it delivers by itself. A dry run only reads the store.'

const exitCodesText =
  'Exit codes: 0 success, 2 usage, a wrong configuration or token, 3 rows were rejected, 4 a delivery\n' +
  'failed or waits, 7 the store or the service cannot be used, or another sync is running, 130 interrupted.'

const examples = `
Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --key lifetime_value --class trait --file values.ndjson.gz --dry-run
  evroute audience list
  evroute audience show first_time_shopper --members 100
  evroute audience remove first_time_shopper

${whereText}

${exitCodesText}`

const syncExamples = `
Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv --dry-run
  evroute audience sync --key lifetime_value --class trait --value-column total --file values.csv
  set -o pipefail  # without it, a failure of psql is not in the exit code
  psql -c "copy (select id from vip) to stdout csv header" | evroute audience sync --key vip --file -
  evroute audience sync --key vip --file vip.csv --api http://127.0.0.1:4001 --token env:ADMIN_TOKEN

The list is CSV with a header, NDJSON or JSON, also gzipped, and has every member. Members who are not in
it leave, unless rows were rejected. A header without rows, or [], removes all members; an empty file is
refused. After an interruption, run the same command again: it goes on.

${whereText}

${exitCodesText}`

const listExamples = `
Examples:
  evroute audience list
  evroute audience list --store sqlite:./evroute.db --json

${exitCodesText}`

const showExamples = `
Examples:
  evroute audience show first_time_shopper
  evroute audience show first_time_shopper --members 1000 --json

${exitCodesText}`

const removeExamples = `
Examples:
  evroute audience remove first_time_shopper --dry-run
  evroute audience remove first_time_shopper

${whereText}

${exitCodesText}`

const keyText = 'its key, as `audience list` prints it'

/** Adds `evroute audience` with the commands below it. */
export const addAudienceCommand: AddCommand = (program, context) => {
  const audience = program
    .command('audience')
    .summary('sync audiences and computed traits with lists, and show them')
    .description(
      'Syncs the members of an audience with a list, and sends an identify call for each user who enters or ' +
        'leaves. The property is the snake_cased name, its value true or false. A computed trait has a value ' +
        'for each user.',
    )
    .addHelpText('after', examples)
  addSync(audience, context)
  addList(audience, context)
  addShow(audience, context)
  addRemove(audience, context)
}

function addSync(audience: Command, context: CommandContext): void {
  const command = audience
    .command('sync')
    .summary('sync the members of an audience with a list')
    .description(
      'Syncs the members of an audience with a list, and sends an identify call for each user who changes. ' +
        'The first sync creates the audience.',
    )
    .option('--name <text>', 'its display name, from which the key is made')
    .option('--key <property>', 'its key: the property of the calls')
    .addOption(
      new Option('--class <class>', 'trait: the list has a value for each user')
        .choices(classes)
        .default('audience'),
    )
    .requiredOption('-f, --file <path>', 'the list, - for stdin: CSV, NDJSON, JSON, gz')
    .option('--source <id>', 'the source that the calls belong to')
    .option(
      '--id-column <name>',
      'a column with userIds, repeatable (default: userId, user_id or id)',
      repeatable,
    )
    .option('--value-column <name>', 'the column with the value of a trait (default: value)')
    .option('-n, --dry-run', 'only show what would change')
  addAccessFlags(command)
    .addHelpText('after', syncExamples)
    .action(async () => {
      const flags = command.opts<SyncFlags>()
      checkSyncFlags(flags)
      const { name, key, class: computationClass, file, source } = flags
      const columns = { userIds: flags.idColumn ?? [], value: flags.valueColumn }
      const isDryRun = flags.dryRun ?? false
      const sync = { name, key, computationClass, file, source, columns, isDryRun }
      await onAudiences({ flags, context, isDryRun }, async (run) => {
        const { syncList } = await import('../audiences/change.ts')
        return syncList(sync, run)
      })
    })
}

function addList(audience: Command, context: CommandContext): void {
  const command = audience
    .command('list')
    .summary('list audiences and computed traits')
    .description('Lists audiences and computed traits, ordered by key.')
  addAccessFlags(command)
    .addHelpText('after', listExamples)
    .action(() =>
      onReaders({ flags: command.opts<AccessFlags>(), context }, async (run) => {
        const { listAudiences } = await import('../audiences/show.ts')
        return listAudiences(run)
      }),
    )
}

function addShow(audience: Command, context: CommandContext): void {
  const command = audience
    .command('show')
    .summary('show an audience and its first members')
    .description('Shows an audience, or a computed trait, and its first members.')
    .argument('<key>', keyText)
    .option('--members <n>', 'show at most this many', countFlag(0, membersMax), membersDefault)
  addAccessFlags(command)
    .addHelpText('after', showExamples)
    .action(async (key: string) => {
      const flags = command.opts<ShowFlags>()
      await onReaders({ flags, context }, async (run) => {
        const { showAudience } = await import('../audiences/show.ts')
        return showAudience({ key, membersMax: flags.members }, run)
      })
    })
}

function addRemove(audience: Command, context: CommandContext): void {
  const command = audience
    .command('remove')
    .summary('remove all members of an audience, and the audience')
    .description(
      'Removes all members of an audience or a computed trait, each with an identify call, and deletes it.',
    )
    .argument('<key>', keyText)
    .option('-n, --dry-run', 'only show who would leave')
  addAccessFlags(command)
    .addHelpText('after', removeExamples)
    .action(async (key: string) => {
      const flags = command.opts<RemoveFlags>()
      const isDryRun = flags.dryRun ?? false
      await onAudiences({ flags, context, isDryRun }, async (run) => {
        const { removeMembers } = await import('../audiences/change.ts')
        return removeMembers({ key, isDryRun }, run)
      })
    })
}

/** Imports the delivery code only now, so that help and usage errors appear at once. */
async function onAudiences(
  { isDryRun, ...called }: CalledCommand & { readonly isDryRun: boolean },
  work: (run: AudiencesRun) => Promise<ExitCode>,
): Promise<void> {
  const { runOperations, runPreview } = await import('../store-access/operations.ts')
  await (isDryRun ? runPreview : runOperations)(called, work)
}

function checkSyncFlags({ name, key, class: computationClass, valueColumn }: SyncFlags): void {
  if (name === undefined && key === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot tell which audience is meant',
      hint: 'Pass --name or --key.',
    })
  }
  if (valueColumn !== undefined && computationClass === 'audience') {
    throw new SettingError(
      '--value-column',
      'Cannot use --value-column with an audience: its members have no values',
      'Pass --class trait for a computed trait.',
    )
  }
}
