import type { SettledDelivery } from '../model/index.ts'
import type { Settlement } from './store-port.ts'

/** Describes an ended delivery for observers. */
export function settledDelivery(
  settlement: Settlement & { readonly kind: 'delivered' | 'failed' | 'expired' },
): SettledDelivery {
  const { kind, delivery, attempts } = settlement
  const { messageId, type, destinationId, acceptedAtMs } = delivery
  const reason = kind === 'delivered' ? null : settlement.reason
  return { messageId, type, destinationId, state: kind, attempts, acceptedAtMs, reason }
}
