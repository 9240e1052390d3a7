import { recordLine } from '../../model/index.ts'
import {
  loggedDeliveryRecord,
  type DeliveryFilter,
  type LoggedDelivery,
} from '../../delivery/index.ts'
import { exitCodes, type ExitCode } from '../exit-code.ts'
import { DataWriter } from '../io.ts'
import type { ReadersRun } from '../store-access/readers.ts'
import { deliveryTable } from './delivery-table.ts'
import { pagesOf } from './find.ts'
import { faultTexts, waitFields, waitsAt, type DestinationStatus } from './status.ts'

/** If there are more deliveries, propose the limit times this. */
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

/** The faults at the destinations of the listed deliveries. */
function faultLines(
  destinations: readonly DestinationStatus[] | undefined,
  shownAt: ReadonlySet<string>,
  nowMs: number,
): string {
  const shown = (destinations ?? []).filter(({ id }) => shownAt.has(id))
  const texts = shown.flatMap((destination) => faultTexts(destination, nowMs))
  return texts.map((text) => `${text}\n`).join('')
}
