import { Option, type Command } from 'commander'
import type { ComputationClass } from '../../audience/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { ExitCode } from '../exit-code.ts'
import { countFlag, repeatable } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import { addAccessFlags, type AccessFlags } from '../store-access/access-flags.ts'
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

/** The highest `--members`. */
const membersMax = 1_000_000
const membersDefault = 10
const classes: readonly ComputationClass[] = ['audience', 'trait']

const placeText =
  'Where `evroute serve` delivers from the store, or the store is in memory, that service is asked\n' +
  'through the admin API of the configuration; else this command delivers by itself. A dry run only reads the store.'

const exitCodesText =
  'Exit codes: 0 as asked, 2 usage, a configuration or a token that is wrong, 3 rows were rejected,\n' +
  '4 a delivery failed or waits, 7 the store cannot be used, the service cannot be asked, or another\n' +
  'sync is under way, 130 interrupted.'

const examples = `
Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --key lifetime_value --class trait --file values.ndjson.gz --dry-run
  evroute audience list
  evroute audience show first_time_shopper --members 100
  evroute audience remove first_time_shopper

${placeText}

${exitCodesText}`

const syncExamples = `
Examples:
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv
  evroute audience sync --name "First-Time Shopper" --file shoppers.csv --dry-run
  evroute audience sync --key lifetime_value --class trait --value-column total --file values.csv
  set -o pipefail  # else the exit code does not tell that psql failed
  psql -c "copy (select id from vip) to stdout csv header" | evroute audience sync --key vip --file -
  evroute audience sync --key vip --file vip.csv --api http://127.0.0.1:4001 --token env:ADMIN_TOKEN

The list is CSV with a header, NDJSON or JSON, also gzipped, and names everybody who is a member. Who
is not in it leaves, unless rows were rejected: a header without rows, or [], lets everybody leave, and
nothing at all is refused. A sync that was interrupted goes on when it is run again.

${placeText}

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

${placeText}

${exitCodesText}`

/** Adds `evroute audience` with the commands below it. */
export const addAudienceCommand: AddCommand = (program, context) => {
  const audience = program
    .command('audience')
    .summary('sync audiences and computed traits with lists, look into them')
    .description(
      'Makes the members of an audience those of a list, and sends an identify call for each user who ' +
        'enters or leaves: the property is the snake_cased name, its value true or false. A computed trait ' +
        'has a value for each user.',
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
    .summary('make the members of an audience those of a list')
    .description(
      'Makes the members of an audience those of a list, and sends an identify call for each user for ' +
        'whom something changes. The first sync makes the audience.',
    )
    .option('--name <text>', 'what people call it; the key is made of it')
    .option('--key <property>', 'the property of the calls, which identifies it')
    .addOption(
      new Option('--class <class>', 'trait: the list has a value for each user')
        .choices(classes)
        .default('audience'),
    )
    .requiredOption('-f, --file <path>', 'the list, - for stdin: CSV, NDJSON, JSON, gz')
    .option('--source <id>', 'the source whose destinations get the calls')
    .option(
      '--id-column <name>',
      'a column with userIds, repeatable (default: userId, user_id or id)',
      repeatable,
    )
    .option('--value-column <name>', 'the column with the value of a trait (default: value)')
    .option('-n, --dry-run', 'show what would change, and change nothing')
  addAccessFlags(command)
    .addHelpText('after', syncExamples)
    .action(async () => {
      const flags = command.opts<SyncFlags>()
      checkSyncFlags(flags)
      const { name, key, class: computationClass, file, source } = flags
      const columns = { userIds: flags.idColumn ?? [], value: flags.valueColumn }
      const isDryRun = flags.dryRun ?? false
      const sync = { name, key, computationClass, file, source, columns, isDryRun }
      // Load the delivery code only now, so that help and usage errors appear at once.
      const [{ runOperations, runPreview }, { syncList }] = await Promise.all([
        import('../store-access/operations.ts'),
        import('../audiences/sync.ts'),
      ])
      const work = (run: AudiencesRun): Promise<ExitCode> => syncList(sync, run)
      await (isDryRun ? runPreview : runOperations)({ flags, context }, work)
    })
}

function addList(audience: Command, context: CommandContext): void {
  const command = audience
    .command('list')
    .summary('list audiences and computed traits')
    .description('Lists audiences and computed traits, ordered by key.')
  addAccessFlags(command)
    .addHelpText('after', listExamples)
    .action(async () => {
      const [{ runReaders }, { listAudiences }] = await Promise.all([
        import('../store-access/readers.ts'),
        import('../audiences/show.ts'),
      ])
      await runReaders({ flags: command.opts<AccessFlags>(), context }, listAudiences)
    })
}

function addShow(audience: Command, context: CommandContext): void {
  const command = audience
    .command('show')
    .summary('show an audience and its first members')
    .description('Shows an audience, or a computed trait, and its first members.')
    .argument('<key>', 'its key as it is listed')
    .option(
      '--members <n>',
      'show so many members at the most',
      countFlag(0, membersMax),
      membersDefault,
    )
  addAccessFlags(command)
    .addHelpText('after', showExamples)
    .action(async (key: string) => {
      const flags = command.opts<ShowFlags>()
      const [{ runReaders }, { showAudience }] = await Promise.all([
        import('../store-access/readers.ts'),
        import('../audiences/show.ts'),
      ])
      await runReaders({ flags, context }, (run) =>
        showAudience({ key, membersMax: flags.members }, run),
      )
    })
}

function addRemove(audience: Command, context: CommandContext): void {
  const command = audience
    .command('remove')
    .summary('let all members of an audience leave, and forget it')
    .description(
      'Lets all members of an audience, or a computed trait, leave, each with an identify call that says ' +
        'so, and forgets it.',
    )
    .argument('<key>', 'its key as it is listed')
    .option('-n, --dry-run', 'show who would leave, and change nothing')
  addAccessFlags(command)
    .addHelpText('after', removeExamples)
    .action(async (key: string) => {
      const flags = command.opts<RemoveFlags>()
      const isDryRun = flags.dryRun ?? false
      const [{ runOperations, runPreview }, { removeMembers }] = await Promise.all([
        import('../store-access/operations.ts'),
        import('../audiences/remove.ts'),
      ])
      const work = (run: AudiencesRun): Promise<ExitCode> => removeMembers({ key, isDryRun }, run)
      await (isDryRun ? runPreview : runOperations)({ flags, context }, work)
    })
}

function checkSyncFlags({ name, key, class: computationClass, valueColumn }: SyncFlags): void {
  if (name === undefined && key === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot tell which audience is meant',
      hint: 'Give its --name, of which the property is made, or its --key.',
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
