import type { SettledDelivery } from '../model/index.ts'
import type { LeasedDelivery, Settlement } from './store-port.ts'

/** A settlement as it is told to whoever observes deliveries. */
export function settledDelivery(
  settlement: Settlement & { readonly kind: 'delivered' | 'failed' | 'expired' },
): SettledDelivery {
  const { kind, delivery, attempts } = settlement
  const acceptedAtMs = acceptance(delivery)
  return {
    messageId: delivery.messageId,
    type: delivery.type,
    destinationId: delivery.destinationId,
    state: kind,
    attempts,
    ...(acceptedAtMs === undefined ? {} : { acceptedAtMs }),
    reason: kind === 'delivered' ? null : settlement.reason,
  }
}

/** As far as a lease tells. */
function acceptance({ lane, dueAtMs, firstAttemptAtMs }: LeasedDelivery): number | undefined {
  switch (lane) {
    case 'first':
      return dueAtMs
    case 'retry':
      return firstAttemptAtMs ?? undefined
    case 'manual':
      // What a person retried days later says nothing about how fast deliveries are.
      return undefined
  }
}
