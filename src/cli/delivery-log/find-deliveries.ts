import { parseDeliveryId, type DeliveryFilter } from '../../delivery/index.ts'
import { EvrouteError, plainText } from '../../model/index.ts'
import type { LogContext } from './open-log.ts'

/**
 * A filter for the delivery with this id, or for all deliveries of the event with this messageId.
 *
 * @throws EvrouteError `invalid_usage` if neither exists
 */
export async function filterOfId(
  text: string,
  { log, place }: Pick<LogContext, 'log' | 'place'>,
): Promise<DeliveryFilter> {
  const key = parseDeliveryId(text)
  // A messageId may look like a delivery id, so try both.
  for (const filter of [...(key === undefined ? [] : [key]), { messageId: text }]) {
    const found = await log.list({ filter, limit: 1 })
    if (found.length > 0) return filter
  }
  throw new EvrouteError({
    code: 'invalid_usage',
    message: `Cannot find "${plainText(text)}" in the ${place}: it is neither a delivery nor a messageId there`,
    hint: 'See `evroute deliveries list` for the ids; what was delivered is purged after a while.',
  })
}
