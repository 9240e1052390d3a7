import { parseDeliveryId, type DeliveryFilter } from '../../delivery/index.ts'
import { EvrouteError, plainText } from '../../model/index.ts'
import type { LogContext } from './open-log.ts'

/**
 * The deliveries that a person means by the id of one, or by a messageId: then all of that event.
 *
 * @throws EvrouteError `invalid_usage` when there is none
 */
export async function filterOfId(
  text: string,
  { log, place }: Pick<LogContext, 'log' | 'place'>,
): Promise<DeliveryFilter> {
  const key = parseDeliveryId(text)
  // A messageId may look like the id of a delivery.
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
