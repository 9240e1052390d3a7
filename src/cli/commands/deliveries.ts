import { InvalidArgumentError, Option, type Command } from 'commander'
import type { DeliveryFilter, LoggedState } from '../../delivery/index.ts'
import { EvrouteError, SettingError, type EventType } from '../../model/index.ts'
import type { Selection } from '../deliveries/change.ts'
import { countFlag, eventTypesFlag, momentFlag, momentMs } from '../flags.ts'
import type { AddCommand, CommandContext } from '../io.ts'
import { addAccessFlags, type AccessFlags } from '../store-access/access.ts'
import { onReaders } from '../store-access/on-readers.ts'

interface LogFlags extends AccessFlags {
  readonly reveal?: boolean
}

/** The flags that filter deliveries, from commander. */
export interface FilterFlags {
  readonly state?: readonly LoggedState[]
  readonly type?: readonly EventType[]
  readonly userId?: string
  readonly destination?: string
  readonly message?: string
  readonly since?: string
  readonly until?: string
}

interface ListFlags extends LogFlags, FilterFlags {
  readonly limit: number
}

interface RetryFlags extends LogFlags, FilterFlags {
  readonly all?: boolean
}

interface DiscardFlags extends RetryFlags {
  readonly dryRun?: boolean
}

const limitMax = 1_000_000_000
const states: readonly LoggedState[] = ['pending', 'delivered', 'failed', 'expired']
const retriableStates: readonly LoggedState[] = ['pending', 'failed', 'expired']

const exitCodesText =
  'Exit codes: 0 success, even if nothing matched, 2 usage, an unknown id or a wrong token,\n' +
  '7 the store or the service cannot be used, 130 interrupted.'

const examples = `
Examples:
  evroute deliveries
  evroute deliveries --state failed --state expired --since 2h
  evroute deliveries show crm/17
  evroute deliveries retry --state failed --type track
  evroute deliveries --state failed --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Without a command it lists; \`evroute deliveries list --help\` has the flags. The store is that of
evroute.config.json, unless --store names another.

${exitCodesText}`

const listExamples = `
Examples:
  evroute deliveries list --state pending --user-id u_1
  evroute deliveries list --since 2026-11-20 --limit 1000000 --json | head

${exitCodesText}`

const showExamples = `
Examples:
  evroute deliveries show crm/17
  evroute deliveries show 17
  evroute deliveries show 5e1b7f0a --store sqlite:./evroute.db --json

${exitCodesText}`

const retryExamples = `
Examples:
  evroute deliveries retry crm/17
  evroute deliveries retry --state failed --type track --since 2h
  evroute deliveries retry --all --store sqlite:./evroute.db

${exitCodesText}`

const discardExamples = `
Examples:
  evroute deliveries discard --destination crm --dry-run
  evroute deliveries discard --destination crm --until 2h

${exitCodesText}`

/** The argument that names deliveries. */
const idText = 'crm/17, 17, or a messageId for all deliveries of its event'

/** Adds `evroute deliveries` with the commands below it. */
export const addDeliveriesCommand: AddCommand = (program, context) => {
  const deliveries = program
    .command('deliveries')
    .summary('list, show, retry or discard the deliveries of a store or a service')
    .description(
      'Lists deliveries, shows the history of one, and retries or discards them. Another process may deliver ' +
        'from the store meanwhile.',
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
    .description('Lists the deliveries that match every flag, newest first.')
    // A mistyped command name arrives here as an excess argument of the default command. Answer with a better
    // message than commander's.
    .allowExcessArguments()
  addFilterFlags(command, states).option(
    '--limit <n>',
    'list at most this many',
    countFlag(1, limitMax),
    50,
  )
  addRevealFlag(addAccessFlags(command))
    .addHelpText('after', listExamples)
    .action(async () => {
      refuseArguments(command.args)
      const flags = command.opts<ListFlags>()
      const { limit } = flags
      await onReaders({ flags, context }, async (run) => {
        const { listDeliveries } = await import('../deliveries/list.ts')
        return listDeliveries({ filter: filterOf(flags, run.nowMs), limit }, run)
      })
    })
}

function addShow(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('show')
    .summary('show the history of a delivery')
    .description(
      'Shows an event, the state of its delivery, each request with its answer, and the body.',
    )
    .argument('<id>', idText)
  addRevealFlag(addAccessFlags(command))
    .addHelpText('after', showExamples)
    .action(async (id: string) => {
      await onReaders({ flags: command.opts<LogFlags>(), context }, async (run) => {
        const { showDeliveries } = await import('../deliveries/show.ts')
        return showDeliveries(id, run)
      })
    })
}

function addRetry(deliveries: Command, context: CommandContext): void {
  const command = deliveries
    .command('retry')
    .summary('make deliveries due again')
    .description(
      'Makes failed, expired and retrying deliveries due at once. Each gets a new retry window and all its ' +
        'endpoints back. Takes an id, or flags that select deliveries.',
    )
    .argument('[id]', idText)
  addFilterFlags(command, retriableStates).option('--all', 'every delivery that can be retried')
  addAccessFlags(command)
    .addHelpText('after', retryExamples)
    .action(async (id: string | undefined) => {
      const flags = command.opts<RetryFlags>()
      const selection = selectionOf(id, flags)
      await onReaders({ flags, write: true, context }, async (run) => {
        const { retryDeliveries } = await import('../deliveries/change.ts')
        return retryDeliveries(selection(run.nowMs), run)
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
    .argument('[id]', idText)
  addFilterFlags(command, ['pending'])
    .option('--all', 'every pending delivery')
    .option('-n, --dry-run', 'only count them')
  addAccessFlags(command)
    .addHelpText('after', discardExamples)
    .action(async (id: string | undefined) => {
      const flags = command.opts<DiscardFlags>()
      const selection = selectionOf(id, flags)
      const { dryRun = false } = flags
      await onReaders({ flags, write: !dryRun, context }, async (run) => {
        const { discardDeliveries } = await import('../deliveries/change.ts')
        return discardDeliveries({ selection: selection(run.nowMs), dryRun }, run)
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

/**
 * Reads which deliveries are selected: by an id, by filter flags, or all. Exactly one of the three must be
 * given.
 */
function selectionOf(id: string | undefined, flags: RetryFlags): (nowMs: number) => Selection {
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

function addRevealFlag(command: Command): Command {
  return command.option('--reveal', 'show the path and query of endpoints')
}

/** Adds the filter flags. `states` are the states that `--state` accepts. */
function addFilterFlags(command: Command, states: readonly LoggedState[]): Command {
  return command
    .addOption(stateOption(states))
    .option('--type <type>', 'only events of this type, repeatable', eventTypesFlag)
    .option('--user-id <id>', 'only events about this user')
    .option('--destination <id>', 'only deliveries to this destination')
    .option('--message <id>', 'only deliveries of the event with this messageId')
    .option('--since <moment>', 'accepted since: 2026-11-20, or 2h for 2 hours ago', momentFlag)
    .option('--until <moment>', 'accepted before this moment', momentFlag)
}

function stateOption(states: readonly LoggedState[]): Option {
  const option = new Option('--state <state>', 'only deliveries in this state, repeatable')
  // `choices` serves help and completion only: a repeatable flag has to collect its values itself.
  return option.choices(states).argParser((text, previous: readonly LoggedState[] | undefined) => {
    const state = states.find((candidate) => candidate === text)
    if (state !== undefined) return [...(previous ?? []), state]
    throw new InvalidArgumentError(`It is one of ${states.join(', ')}.`)
  })
}

/** Returns the filter that the flags describe. */
export function filterOf(flags: FilterFlags, nowMs: number): DeliveryFilter {
  const { since, until } = flags
  return {
    states: flags.state,
    types: flags.type,
    userId: flags.userId,
    destinationId: flags.destination,
    messageId: flags.message,
    sinceMs: since === undefined ? undefined : momentMs(since, nowMs),
    untilMs: until === undefined ? undefined : momentMs(until, nowMs),
  }
}

/** Returns the first filter flag that is given, as typed. */
export function firstFilterFlag(flags: FilterFlags): string | undefined {
  const { state, type, userId, destination, message, since, until } = flags
  const given = { state, type, 'user-id': userId, destination, message, since, until }
  const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? []
  return name === undefined ? undefined : `--${name}`
}
