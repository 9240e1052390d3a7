import type { DeliveryFilter, LoggedState } from '../../delivery/index.ts'
import { SettingError } from '../../model/index.ts'
import { command, commandFamily, flag, option, type ValuesOf } from '../command.ts'
import type { Selection } from '../deliveries/change.ts'
import { accessOptions, choicesOf, countFlag, eventTypesFlag, momentFlag } from '../flags.ts'
import { usageError } from '../output/error.ts'

const limitMax = 1_000_000_000

const exitCodesText =
  'Exit codes: 0 success, even if nothing matched; 2 usage, unknown id or wrong token;\n' +
  '7 the store or the service cannot be used; 130 interrupted.'

const idText = 'a delivery such as crm/17 or 17, or a messageId for all deliveries of its event'

function filterOptions(states: readonly LoggedState[]) {
  return {
    states: option(
      '--state <state>',
      'only deliveries in this state, repeatable',
      choicesOf(states),
    )
      // Only for help and completion: the parser already checks the state.
      .choices(states),
    types: option('--type <type>', 'only events of this type, repeatable', eventTypesFlag),
    userId: option('--user-id <id>', 'only events about this user'),
    destinationId: option('--destination <id>', 'only deliveries to this destination'),
    messageId: option('--message <id>', 'only deliveries of the event with this messageId'),
    sinceMs: option(
      '--since <moment>',
      'accepted from this time: 2026-11-20, or 2h for 2 hours ago',
      momentFlag,
    ),
    untilMs: option(
      '--until <moment>',
      'accepted before this time; same formats as --since',
      momentFlag,
    ),
  }
}

/** The parsed options that filter deliveries. */
export type FilterValues = Partial<ValuesOf<ReturnType<typeof filterOptions>>>

const reveal = flag('--reveal', 'show the path and query of endpoints')

const addList = command({
  name: 'list',
  isDefault: true,
  summary: 'list deliveries, newest first',
  description: 'Lists the deliveries that match every flag, newest first.',
  options: {
    ...filterOptions(['pending', 'delivered', 'failed', 'expired']),
    limit: option('--limit <n>', 'list at most this many', countFlag(1, limitMax)).orShown(50),
    ...accessOptions,
    reveal,
  },
  after: `Examples:
  evroute deliveries list --state pending --user-id u_1
  evroute deliveries list --since 2026-11-20 --limit 1000000 --json | head

${exitCodesText}`,
  run: async (values, { io }) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { listDeliveries } = await import('../deliveries/show.ts')
    const request = { filter: filterOf(values), limit: values.limit }
    return runReaders(values, io, (run) => listDeliveries(request, run))
  },
})

const addShow = command({
  name: 'show',
  summary: 'show the history of a delivery',
  description:
    'Shows an event, the state of its delivery, each request with its answer, and the body.',
  arguments: [['<id>', idText]],
  options: { ...accessOptions, reveal },
  after: `Examples:
  evroute deliveries show crm/17
  evroute deliveries show 17
  evroute deliveries show 5e1b7f0a --store sqlite:./evroute.db --json

${exitCodesText}`,
  run: async (values, { io }, [id]: [string]) => {
    const { runReaders } = await import('../store-access/readers.ts')
    const { showDeliveries } = await import('../deliveries/show.ts')
    return runReaders(values, io, (run) => showDeliveries(id, run))
  },
})

const addRetry = command({
  name: 'retry',
  summary: 'make deliveries due again',
  description:
    'Makes failed, expired and retrying deliveries due immediately. Each gets a new retry window, and ' +
    'may use all of its endpoints again. Takes an id, or flags that select deliveries. Discarded deliveries ' +
    'are retried only by id or messageId.',
  arguments: [['[id]', idText]],
  options: {
    ...filterOptions(['pending', 'failed', 'expired']),
    all: flag('--all', 'every failed, expired and retrying delivery'),
    dryRun: flag('-n, --dry-run', 'only count them'),
    ...accessOptions,
  },
  after: `Examples:
  evroute deliveries retry crm/17
  evroute deliveries retry --state failed --type track --since 2h --dry-run
  evroute deliveries retry --all --store sqlite:./evroute.db

${exitCodesText}`,
  run: async (values, { io }, [id]: [string | undefined]) => {
    const selection = selectionOf(id, values)
    const { dryRun } = values
    const { runReaders } = await import('../store-access/readers.ts')
    const { retryDeliveries } = await import('../deliveries/change.ts')
    return runReaders({ ...values, write: !dryRun }, io, (run) =>
      retryDeliveries({ selection, dryRun }, run),
    )
  },
})

const addDiscard = command({
  name: 'discard',
  summary: 'end pending deliveries without sending them',
  description:
    'Ends pending deliveries as failed, with the reason "discarded". They are retried only by id or ' +
    'messageId. Takes an id, or flags that select deliveries.',
  arguments: [['[id]', idText]],
  options: {
    ...filterOptions(['pending']),
    all: flag('--all', 'every pending delivery'),
    dryRun: flag('-n, --dry-run', 'only count them'),
    ...accessOptions,
  },
  after: `Examples:
  evroute deliveries discard --destination crm --dry-run
  evroute deliveries discard --destination crm --until 2h

${exitCodesText}`,
  run: async (values, { io }, [id]: [string | undefined]) => {
    const selection = selectionOf(id, values)
    const { dryRun } = values
    const { runReaders } = await import('../store-access/readers.ts')
    const { discardDeliveries } = await import('../deliveries/change.ts')
    return runReaders({ ...values, write: !dryRun }, io, (run) =>
      discardDeliveries({ selection, dryRun }, run),
    )
  },
})

/** Adds `evroute deliveries` with the commands below it. */
export const addDeliveriesCommand = commandFamily(
  {
    name: 'deliveries',
    summary: 'list, show, retry or discard deliveries',
    description:
      'Lists deliveries, shows the history of one, and retries or discards them. This is safe while another ' +
      'process is delivering from the store.',
    after: `Examples:
  evroute deliveries
  evroute deliveries --state failed --state expired --since 2h
  evroute deliveries show crm/17
  evroute deliveries retry --state failed --type track
  evroute deliveries --api http://127.0.0.1:4001 --token env:EVROUTE_ADMIN_TOKEN

Without a command, deliveries are listed; \`evroute deliveries list --help\` shows the flags. The store is
the one in evroute.config.json, unless --store names a different one.

${exitCodesText}`,
  },
  [addList, addShow, addRetry, addDiscard],
)

/** Reads which deliveries are selected. Exactly one must be given: an id, options that filter, or `--all`. */
function selectionOf(
  id: string | undefined,
  values: FilterValues & { readonly all: boolean },
): Selection {
  const given = [id, firstFilterFlag(values), values.all ? '--all' : undefined]
  const [first, second] = given.filter((name) => name !== undefined)
  if (second !== undefined) {
    throw new SettingError(second, `Cannot use ${second} together with ${first ?? ''}`)
  }
  if (first === undefined) {
    throw usageError(
      'Cannot tell which deliveries are meant',
      'Name a delivery, select some with flags such as --state failed, or pass --all.',
    )
  }
  return id === undefined ? { filter: filterOf(values) } : { id }
}

/** Makes a filter from the options that filter. */
export function filterOf(values: FilterValues): DeliveryFilter {
  const { states, types, userId, destinationId, messageId, sinceMs, untilMs } = values
  return { states, types, userId, destinationId, messageId, sinceMs, untilMs }
}

/** Returns the flag of the first given option that filters. */
export function firstFilterFlag(values: FilterValues): string | undefined {
  const filters = Object.entries(filterOptions([]))
  const [, given] = filters.find(([name]) => values[name as keyof FilterValues] !== undefined) ?? []
  return given?.long
}
