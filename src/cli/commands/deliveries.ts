import type { Command } from 'commander'
import type { LoggedState } from '../../delivery/index.ts'
import { EvrouteError, SettingError } from '../../model/index.ts'
import type { AddCommand, CommandContext } from '../command.ts'
import {
  addFilterFlags,
  addLogFlags,
  addRevealFlag,
  filterOf,
  firstFilterFlag,
  limitMax,
  type FilterFlags,
  type LogFlags,
} from '../delivery-log/log-flags.ts'
import type { RetrySelection } from '../delivery-log/retry.ts'
import { runOnLog } from '../delivery-log/run-on-log.ts'
import { countFlag } from '../flags.ts'

interface ListFlags extends LogFlags, FilterFlags {
  readonly limit: number
}

interface RetryFlags extends LogFlags, FilterFlags {
  readonly all?: boolean
}

interface DiscardFlags extends RetryFlags {
  readonly dryRun?: boolean
}

const states: readonly LoggedState[] = ['pending', 'delivered', 'failed', 'expired']
const retriableStates: readonly LoggedState[] = ['pending', 'failed', 'expired']

const exitCodesText =
  'Exit codes: 0 as asked, also where nothing was to be done, 2 usage, an id that is not there, or a\n' +
  'token that is wrong, 7 the store cannot be used or the service cannot be asked, 130 interrupted.'

const examples = `
Examples:
  evroute deliveries --store sqlite:./evroute.db
  evroute deliveries --store sqlite:./evroute.db --state failed --state expired --since 2h
  evroute deliveries show crm/17 --store sqlite:./evroute.db
  evroute deliveries retry --state failed --type track --store sqlite:./evroute.db
  evroute deliveries --state failed --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Without a command it lists; \`evroute deliveries list --help\` has the flags. A delivery is named by
its destination and its number, as it is listed.

${exitCodesText}`

const listExamples = `
Examples:
  evroute deliveries list --store sqlite:./evroute.db --state pending --user u_1
  evroute deliveries list --store sqlite:./evroute.db --since 2026-11-20 --limit 1000000 --json | head

${exitCodesText}`

const showExamples = `
Examples:
  evroute deliveries show crm/17 --store sqlite:./evroute.db
  evroute deliveries show 5e1b7f0a --store sqlite:./evroute.db --json

${exitCodesText}`

const retryExamples = `
Examples:
  evroute deliveries retry crm/17 --store sqlite:./evroute.db
  evroute deliveries retry --state failed --type track --since 2h --store sqlite:./evroute.db
  evroute deliveries retry --all --store sqlite:./evroute.db

${exitCodesText}`

const discardExamples = `
Examples:
  evroute deliveries discard --destination crm --dry-run --store sqlite:./evroute.db
  evroute deliveries discard --destination crm --until 2h --store sqlite:./evroute.db

${exitCodesText}`

/** Adds `evroute deliveries` with the commands below it. */
export const addDeliveriesCommand: AddCommand = (program, context) => {
  const deliveries = program
    .command('deliveries')
    .summary('look into the deliveries of a store or a service, retry or discard them')
    .description(
      'Lists the deliveries of a store, or of a running service, shows all that happened to one, and retries ' +
        'them by hand. A process may deliver from the store meanwhile.',
    )
    .addHelpText('after', examples)
  addList(deliveries, context)
  addShow(deliveries, context)
  addRetry(deliveries, context)
  addDiscard(deliveries, context)
}

function addList(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('list', { isDefault: true })
    .summary('list deliveries, newest first')
    .description('Lists deliveries, newest first, those that meet every flag.')
    // A mistyped command name arrives here as an excess argument of the default command. Answer with a better
    // message than commander's.
    .allowExcessArguments()
  addFilterFlags(command, states).option(
    '--limit <n>',
    'list so many at the most',
    countFlag(1, limitMax),
    50,
  )
  addRevealFlag(addLogFlags(command))
    .addHelpText('after', listExamples)
    .action(async () => {
      refuseArguments(command.args)
      const flags = command.opts<ListFlags>()
      await runOnLog({ flags, write: false, context }, async (log) => {
        const { listDeliveries } = await import('../delivery-log/list.ts')
        const { limit } = flags
        return listDeliveries({ filter: filterOf(flags, log.nowMs), limit }, log)
      })
    })
}

function addShow(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('show')
    .summary('show all that happened to a delivery')
    .description(
      'Shows a delivery: its event, where it stands and why, every request with its answer, and the body.',
    )
    .argument('<id>', 'its id as it is listed, or a messageId for all deliveries of that event')
  addRevealFlag(addLogFlags(command))
    .addHelpText('after', showExamples)
    .action(async (id: string) => {
      await runOnLog({ flags: command.opts<LogFlags>(), write: false, context }, async (log) => {
        const { showDeliveries } = await import('../delivery-log/show.ts')
        return showDeliveries(id, log)
      })
    })
}

function addRetry(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('retry')
    .summary('make deliveries due again')
    .description(
      'Makes deliveries due at once that failed, expired or wait for a retry, with a new retry window, and ' +
        'every endpoint asked again. Takes an id, or flags that select deliveries.',
    )
    .argument('[id]', 'an id as it is listed, or a messageId for all deliveries of that event')
  addFilterFlags(command, retriableStates).option('--all', 'all that can be retried')
  addLogFlags(command)
    .addHelpText('after', retryExamples)
    .action(async (id: string | undefined) => {
      const flags = command.opts<RetryFlags>()
      const selection = selectionOf(id, flags)
      await runOnLog({ flags, write: true, context }, async (log) => {
        const { retryDeliveries } = await import('../delivery-log/retry.ts')
        return retryDeliveries(selection(log.nowMs), log)
      })
    })
}

function addDiscard(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('discard')
    .summary('end pending deliveries without sending them')
    .description(
      'Ends pending deliveries as failed, with the reason "discarded". They can be retried later. ' +
        'Takes an id, or flags that select deliveries.',
    )
    .argument('[id]', 'an id as it is listed, or a messageId for all deliveries of that event')
  addFilterFlags(command, ['pending'])
    .option('--all', 'all pending deliveries')
    .option('-n, --dry-run', 'count them and change nothing')
  addLogFlags(command)
    .addHelpText('after', discardExamples)
    .action(async (id: string | undefined) => {
      const flags = command.opts<DiscardFlags>()
      const selection = selectionOf(id, flags)
      const { dryRun = false } = flags
      await runOnLog({ flags, write: !dryRun, context }, async (log) => {
        const { discardDeliveries } = await import('../delivery-log/discard.ts')
        return discardDeliveries({ selection: selection(log.nowMs), dryRun }, log)
      })
    })
}

function refuseArguments([name]: readonly string[]): void {
  if (name === undefined) return
  throw new EvrouteError({
    code: 'invalid_usage',
    message: `unknown command '${name}'`,
    hint: 'The commands of `evroute deliveries` are list, show <id>, retry and discard.',
  })
}

/** The selected deliveries: by an id, by filter flags, or all. Exactly one of the three must be given. */
function selectionOf(id: string | undefined, flags: RetryFlags): (nowMs: number) => RetrySelection {
  const filterFlag = firstFilterFlag(flags)
  const given = [id, filterFlag, flags.all === true ? '--all' : undefined].filter(
    (name) => name !== undefined,
  )
  const [first, second] = given
  if (second !== undefined) {
    throw new SettingError(second, `Cannot use ${second} together with ${first ?? ''}`)
  }
  if (first === undefined) {
    throw new EvrouteError({
      code: 'invalid_usage',
      message: 'Cannot tell which deliveries are meant',
      hint: 'Name a delivery, select some with flags such as --state failed, or pass --all.',
    })
  }
  return (nowMs) => (id === undefined ? { filter: filterOf(flags, nowMs) } : { id })
}
