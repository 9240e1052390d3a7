import {
  loggedDeliveryRecord,
  formatDeliveryId,
  type DeliveryFilter,
  type LoggedDelivery,
} from '../../delivery/index.ts'
import { recordLine, plainText, columnsOf, cutToColumns } from '../../model/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter } from '../io.ts'
import { formatSpan } from '../output/moments.ts'
import { TextTable } from '../output/table.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import { pagesOf } from './find.ts'
import {
  faultTexts,
  waitFields,
  waitsAt,
  parkedText,
  stateLooks,
  type DestinationStatus,
  type StatusView,
  type TableView,
} from './status.ts'

/** The factor between the limit and the proposed one, if there are more deliveries. */
const moreFactor = 10

/** Lists deliveries, newest first. Says so if there are more than the limit. */
export async function listDeliveries(
  { filter, limit }: { readonly filter: DeliveryFilter; readonly limit: number },
  run: ReadersRun,
): Promise<ExitCode> {
  const { io, json, nowMs, style, columns } = run
  const stdout = new DataWriter(io)
  const destinations = await run.deliveries.destinations?.()
  const waitOf = waitsAt(nowMs, destinations)
  const table = deliveryTable({ nowMs, waitOf, style, columns })
  const lineOf = (delivery: LoggedDelivery): string =>
    recordLine({ ...loggedDeliveryRecord(delivery), ...waitFields(waitOf(delivery)) })
  const shownAt = new Set<string>()
  let shown = 0
  let isMore = false
  // Ask for one more, to learn whether there are more.
  for await (const page of pagesOf(run, { filter, limit: limit + 1 })) {
    const deliveries = page.slice(0, limit - shown)
    shown += deliveries.length
    for (const { destinationId } of deliveries) shownAt.add(destinationId)
    isMore = deliveries.length < page.length
    if (json) stdout.write(deliveries.map(lineOf).join(''))
    else if (deliveries.length > 0) stdout.write(table.page(deliveries))
    await stdout.ready()
  }
  const nothing = shown === 0 && !io.stop.aborted
  if (isMore) io.stderr.write(`... and more; --limit ${limit * moreFactor}\n`)
  else if (nothing && !json) io.stderr.write('No delivery matches.\n')
  if (!json) io.stderr.write(faultLines(destinations, shownAt, nowMs))
  return exitCodes.ok
}

/** Writes the faults at the destinations of the listed deliveries. */
function faultLines(
  destinations: readonly DestinationStatus[] | undefined,
  shownAt: ReadonlySet<string>,
  nowMs: number,
): string {
  const shown = (destinations ?? []).filter(({ id }) => shownAt.has(id))
  const texts = shown.flatMap((destination) => faultTexts(destination, nowMs))
  return texts.map((text) => `${text}\n`).join('')
}

/** The minimum width of ids. It has room for every number, which alone names a delivery. */
const idColumnsMin = 18

/** Makes a table of deliveries, the most important column first. */
export function deliveryTable(view: TableView): TextTable<LoggedDelivery> {
  const { nowMs } = view
  return new TextTable<LoggedDelivery>(
    [
      {
        title: 'delivery',
        text: formatDeliveryId,
        look: 'strong',
        columnsMin: idColumnsMin,
        cut: cutId,
      },
      { title: 'state', text: ({ state }) => state, look: ({ state }) => stateLooks[state] },
      {
        title: 'why or next',
        text: (delivery) => outlookOf(delivery, view),
        look: ({ state }) => (state === 'pending' ? 'plain' : 'bad'),
        columnsMin: 16,
      },
      {
        title: 'accepted',
        text: ({ acceptedAtMs }) => `${formatSpan(nowMs - acceptedAtMs)} ago`,
        look: 'faint',
      },
      { title: 'tries', text: ({ attempts }) => String(attempts), isCount: true },
      { title: 'user', text: ({ userId }) => userId ?? '-', look: 'name' },
      { title: 'type', text: ({ type }) => type },
      { title: 'messageId', text: ({ messageId }) => messageId, look: 'faint', columnsMin: 12 },
    ],
    view,
  )
}

/** Shortens the destination in an id, and never the number: `to-127.0…/199950`. */
export function cutId(id: string, columnsMax: number): string {
  const slash = id.lastIndexOf('/')
  if (slash === -1) return cutToColumns(id, columnsMax)
  const room = columnsMax - columnsOf(id.slice(slash))
  // A letter and an ellipsis at least.
  return room < 2 ? id.slice(slash + 1) : cutToColumns(id.slice(0, slash), room) + id.slice(slash)
}

/** Explains why the delivery failed, or when its next attempt is due. */
function outlookOf(delivery: LoggedDelivery, { nowMs, waitOf }: StatusView): string {
  const { reason, dueAtMs } = delivery
  if (dueAtMs === null) return plainText(reason ?? '')
  const parked = parkedText(waitOf(delivery), nowMs)
  if (parked !== undefined) return parked
  const due =
    dueAtMs > nowMs
      ? `next in ${formatSpan(dueAtMs - nowMs)}`
      : `due for ${formatSpan(nowMs - dueAtMs)}`
  return reason === null ? due : `${due} after ${plainText(reason)}`
}
