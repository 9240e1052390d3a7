import type { DeliveryFilter } from '../../delivery/index.ts'
import type { StoredDelivery } from './stored-delivery.ts'

/** Tells whether a delivery meets every condition of a filter that is there. */
export function meets(delivery: StoredDelivery, filter: DeliveryFilter): boolean {
  const { sinceMs = -Infinity, untilMs = Infinity } = filter
  return (
    isWanted(delivery.destinationId, filter.destinationId) &&
    isWanted(delivery.id, filter.id) &&
    isWanted(delivery.messageId, filter.messageId) &&
    isWanted(delivery.userId, filter.userId) &&
    isAmong(delivery.end?.state ?? 'pending', filter.states) &&
    isAmong(delivery.type, filter.types) &&
    delivery.acceptedAtMs >= sinceMs &&
    delivery.acceptedAtMs < untilMs
  )
}

function isWanted<Value>(value: Value, wanted: Value | undefined): boolean {
  return wanted === undefined || value === wanted
}

function isAmong<Value>(value: Value, wanted: readonly Value[] | undefined): boolean {
  return wanted === undefined || wanted.includes(value)
}
