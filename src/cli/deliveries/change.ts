import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DeliveryFields } from '../../admin-api/index.ts'
import type {
  ChangePosition,
  ChangeRequest,
  ChangeResult,
  DeliveryFilter,
} from '../../delivery/index.ts'
import { erasedReason, plainText, reasonsNotRetried, recordLine } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { writeData } from '../io.ts'
import { countOf } from '../output/numbers.ts'
import { styleOf } from '../output/style.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import { deliveriesAtOnce, deliveryPages, filterOfId } from './show.ts'

/** The deliveries to change: those that an id names, or those that match a filter. */
export type Selection = { readonly id: string } | { readonly filter: DeliveryFilter }

/** What to change. A dry run only counts the deliveries. */
interface Change {
  readonly selection: Selection
  readonly dryRun: boolean
}

/** Makes deliveries due at once, with a new retry window, and reports how many. */
export async function retryDeliveries(
  { selection, dryRun }: Change,
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, deliveries, nowMs } = run
  const filter = 'id' in selection ? await filterOfId(selection.id, run) : selection.filter
  const count = dryRun
    ? await countMatching(filter, (delivery) => isRetried(delivery, filter), run)
    : await changeAll((page) => deliveries.retry({ nowMs, filter, ...page }), run)
  if (json) {
    await writeData(io, recordLine({ kind: 'retry', deliveries: count, dryRun }))
    return exitCodes.ok
  }
  const text = dryRun
    ? `${countOf(count, 'delivery', 'deliveries')} would be due again`
    : `${countOf(count, 'delivery is', 'deliveries are')} due again`
  await writeData(io, `${text}\n`)
  if (count === 0) note(await reasonsOf(selection, filter, run), run)
  else if (!dryRun) note([await nextText(filter, run)], run)
  return exitCodes.ok
}

/** Ends pending deliveries as failed and reports how many. */
export async function discardDeliveries(
  { selection, dryRun }: Change,
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, deliveries, nowMs } = run
  const filter = 'id' in selection ? await filterOfId(selection.id, run) : selection.filter
  const count = dryRun
    ? await countMatching(filter, isPending, run)
    : await changeAll((page) => deliveries.discard({ nowMs, filter, ...page }), run)
  if (json) {
    await writeData(io, recordLine({ kind: 'discard', deliveries: count, dryRun }))
    return exitCodes.ok
  }
  const counted = countOf(count, 'delivery', 'deliveries')
  await writeData(io, `${counted} ${dryRun ? 'would be discarded' : 'discarded'}\n`)
  if (count === 0) note(await unknownDestination(filter, run), run)
  else if (!dryRun) note([afterwards], run)
  return exitCodes.ok
}

const afterwards =
  'Discarded deliveries have failed with the reason "discarded", and are retried only by id or messageId. A ' +
  'webhook that is being sent right now may still arrive.'

function note(notes: readonly string[], { io, color }: ReadersRun): void {
  const style = styleOf(io, 'stderr', color)
  for (const text of notes) io.stderr.write(`${style.faint(text)}\n`)
}

/** Changes one page after the other. Returns how many deliveries were changed. */
async function changeAll(
  change: (page: Pick<ChangeRequest, 'limit' | 'after'>) => Promise<ChangeResult>,
  { io }: ReadersRun,
): Promise<number> {
  let total = 0
  let after: ChangePosition | undefined
  for (;;) {
    const { deliveries, next } = await change({ limit: deliveriesAtOnce, after })
    total += deliveries
    // Let the event loop turn, so that signals are handled. Other processes can use the store meanwhile.
    await nextTurn()
    if (deliveries < deliveriesAtOnce || io.stop.aborted) return total
    after = next ?? undefined
  }
}

async function countMatching(
  filter: DeliveryFilter,
  matches: (delivery: DeliveryFields) => boolean,
  run: ReadersRun,
): Promise<number> {
  let total = 0
  const states = filter.states ?? ['pending', 'failed', 'expired']
  const request = { filter: { ...filter, states }, limit: Infinity }
  for await (const page of deliveryPages(request, run)) total += page.filter(matches).length
  return total
}

function isPending({ state }: DeliveryFields): boolean {
  return state === 'pending'
}

function isRetried(
  { state, lane, reason }: DeliveryFields,
  { id, messageId }: DeliveryFilter,
): boolean {
  if (state === 'pending') return lane === 'retry'
  const isNamed = id !== undefined || messageId !== undefined
  return reason === null || !reasonsNotRetried(isNamed).includes(reason)
}

const nextTexts: Readonly<Record<ReadersRun['from'], string>> = {
  store:
    'A process that is delivering from the store sends due deliveries immediately. If there is none, start ' +
    '`serve`, or run `send` or `replay` with this --store and the same --to.',
  service:
    'The service sends due deliveries now, unless the endpoints are down or rate-limited, or the destination ' +
    'is disabled or no longer configured.',
}

async function nextText({ destinationId }: DeliveryFilter, run: ReadersRun): Promise<string> {
  const destinations = await run.deliveries.destinations?.()
  if (destinations === undefined || destinationId === undefined) return nextTexts[run.from]
  const destination = destinations.find(({ id }) => id === destinationId)
  if (destination?.enabled === true) return nextTexts[run.from]
  const [state, remedy] =
    destination === undefined ? ['no longer configured', 'add it again'] : ['disabled', 'enable it']
  return `The destination ${plainText(destinationId)} is ${state}. To send its deliveries, ${remedy}.`
}

async function reasonsOf(
  selection: Selection,
  filter: DeliveryFilter,
  run: ReadersRun,
): Promise<readonly string[]> {
  if (!('id' in selection)) {
    return [
      'No failed, expired or retrying delivery matches. Discarded ones are retried only by id or messageId.',
      ...(await unknownDestination(filter, run)),
    ]
  }
  const found = await run.deliveries.list({ filter, limit: deliveriesAtOnce })
  return found.map((delivery) => `${plainText(delivery.id)} ${whyNot(delivery)}`)
}

async function unknownDestination(
  { destinationId: id }: DeliveryFilter,
  { deliveries }: ReadersRun,
): Promise<readonly string[]> {
  const destinations = id === undefined ? undefined : await deliveries.destinations?.()
  if (id === undefined || destinations === undefined) return []
  const isKnown = destinations.some((destination) => destination.id === id)
  return isKnown ? [] : [`The service has no destination ${plainText(id)}.`]
}

function whyNot({ state, lane, reason }: DeliveryFields): string {
  if (state === 'delivered') return 'was already delivered'
  if (reason === erasedReason) return 'cannot be retried, because its user was deleted'
  return lane === 'first' ? 'is waiting for its first attempt' : 'is already due'
}
