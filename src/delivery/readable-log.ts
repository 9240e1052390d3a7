import { hiddenEndpoint } from '../model/index.ts'
import type { DeliveryLog, LoggedDelivery } from './log-port.ts'

/** Writes an endpoint's URL for people: in full if `reveal` is true, otherwise shortened by `hiddenEndpoint`. */
export function shownEndpoint(url: string, reveal: boolean): string {
  return reveal ? url : hiddenEndpoint(url)
}

/** Wraps a log, and writes its URLs with {@link shownEndpoint}. */
export function readableLog(
  log: Pick<DeliveryLog, 'list' | 'story'>,
  reveal: boolean,
): Pick<DeliveryLog, 'list' | 'story'> {
  const withShownUrl = <Named extends { readonly url: string }>(named: Named): Named => ({
    ...named,
    url: shownEndpoint(named.url, reveal),
  })
  const withShownHolds = <Delivery extends LoggedDelivery>(delivery: Delivery): Delivery => ({
    ...delivery,
    holds: delivery.holds.map(withShownUrl),
  })
  return {
    list: async (request) => (await log.list(request)).map(withShownHolds),
    story: async (key) => {
      const story = await log.story(key)
      if (story === undefined) return undefined
      return { ...withShownHolds(story), requests: story.requests.map(withShownUrl) }
    },
  }
}
