import type { AddRequest, LeasedDelivery } from '../../delivery/index.ts'
import { untriedDelivery } from '../untried-delivery.ts'
import type { SlimAddition } from './thread-messages.ts'

/** The places of the leased deliveries of a batch, counted from zero over all its deliveries. */
export function placesOf(
  { events }: AddRequest,
  leased: readonly LeasedDelivery[],
): readonly number[] {
  const places: number[] = []
  let place = 0
  for (const { messageId, deliveries } of events) {
    for (const { destinationId, body } of deliveries) {
      const next = leased[places.length]
      // The second of two events with one messageId is a duplicate, unless their sources differ.
      const isNext =
        next?.messageId === messageId && next.destinationId === destinationId && next.body === body
      if (isNext) places.push(place)
      place++
    }
  }
  return places
}

/** The leased deliveries of a batch. Their texts did not travel back. */
export function handedOver(
  { nowMs, events }: AddRequest,
  { places, ids, leases }: SlimAddition,
): readonly LeasedDelivery[] {
  const leased: LeasedDelivery[] = []
  let place = 0
  for (const event of events) {
    for (const { destinationId, body } of event.deliveries) {
      const [id, lease] = [ids[leased.length], leases[leased.length]]
      if (id !== undefined && lease !== undefined && places[leased.length] === place) {
        leased.push(untriedDelivery({ id, lease, destinationId, event, body }, nowMs))
      }
      place++
    }
  }
  return leased
}
