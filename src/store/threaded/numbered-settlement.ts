import type { LeasedDelivery, Settlement } from '../../delivery/index.ts'
import type { NumberedSettlement } from './thread-messages.ts'

/** Puts the number of its lease in the place of a settled delivery, which stays where it is. */
export function numbered(settlement: Settlement, lease: number): NumberedSettlement {
  switch (settlement.kind) {
    case 'delivered': {
      const { kind, attempts } = settlement
      return { kind, lease, attempts }
    }
    case 'failed':
    case 'expired': {
      const { kind, attempts, reason } = settlement
      return { kind, lease, attempts, reason }
    }
    case 'retry': {
      const { kind, dueAtMs, expiresAtMs, progress } = settlement
      return { kind, lease, dueAtMs, expiresAtMs, progress }
    }
    case 'returned': {
      const { kind, dueAtMs } = settlement
      return { kind, lease, dueAtMs }
    }
  }
}

/** Puts a delivery in the place of its lease's number. */
export function settlementOf(ending: NumberedSettlement, delivery: LeasedDelivery): Settlement {
  switch (ending.kind) {
    case 'delivered': {
      const { kind, attempts } = ending
      return { kind, delivery, attempts }
    }
    case 'failed':
    case 'expired': {
      const { kind, attempts, reason } = ending
      return { kind, delivery, attempts, reason }
    }
    case 'retry': {
      const { kind, dueAtMs, expiresAtMs, progress } = ending
      return { kind, delivery, dueAtMs, expiresAtMs, progress }
    }
    case 'returned': {
      const { kind, dueAtMs } = ending
      return { kind, delivery, dueAtMs }
    }
  }
}
