import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  parseDeliveryId,
  type DeliveryFilter,
  type DeliveryKey,
  type LoggedDelivery,
} from '../../delivery/index.ts'
import { EvrouteError, plainText } from '../../model/index.ts'
import type { ReadersRun } from '../store-access/readers.ts'

/** Deliveries per page, or per request to change them. */
export const deliveriesAtOnce = 500

/**
 * Makes a filter for the delivery with this id or number, or for all deliveries of the event with this
 * messageId.
 *
 * @throws EvrouteError `invalid_usage` if there is none
 */
export async function filterOfId(
  text: string,
  { deliveries, from }: Pick<ReadersRun, 'deliveries' | 'from'>,
): Promise<DeliveryFilter> {
  const key = parseDeliveryId(text) ?? (await keyOfNumber(text, deliveries))
  // A messageId may look like a delivery id, so try both.
  for (const filter of [...(key === undefined ? [] : [key]), { messageId: text }]) {
    const found = await deliveries.list({ filter, limit: 1 })
    if (found.length > 0) return filter
  }
  throw new EvrouteError({
    code: 'invalid_usage',
    message: `Cannot find "${plainText(text)}" in the ${from}: it is neither a delivery nor a messageId there`,
    hint: 'See `evroute deliveries list` for the ids; what was delivered is purged after a while.',
  })
}

/** Finds the delivery with a number, which is unique in a store. */
async function keyOfNumber(
  text: string,
  deliveries: ReadersRun['deliveries'],
): Promise<DeliveryKey | undefined> {
  if (!/^\d{1,15}$/.test(text)) return undefined
  const number = Number(text)
  const [found] = await deliveries.list({ filter: {}, limit: 1, beforeId: number + 1 })
  return found?.id === number ? { destinationId: found.destinationId, id: number } : undefined
}

/**
 * Yields pages of deliveries, newest first, up to a limit. The event loop turns before each page, so that
 * signals are handled.
 */
export async function* pagesOf(
  { deliveries, io }: Pick<ReadersRun, 'deliveries' | 'io'>,
  { filter, limit }: { readonly filter: DeliveryFilter; readonly limit: number },
): AsyncGenerator<readonly LoggedDelivery[]> {
  let left = limit
  let beforeId: number | undefined
  while (left > 0) {
    await nextTurn()
    if (io.stop.aborted) return
    const asked = Math.min(left, deliveriesAtOnce)
    const page = await deliveries.list({ filter, limit: asked, beforeId })
    if (page.length > 0) yield page
    if (page.length < asked) return
    beforeId = page.at(-1)?.id
    left -= page.length
  }
}
