import type { DeliveryStore } from '../../delivery/index.ts'

/** What waits for a destination. */
export interface QueueState {
  /** The destination. */
  readonly destinationId: string
  /** Deliveries that are pending, those in flight among them. */
  readonly pending: number
  /** When the first one that is not in flight is due, in milliseconds since 1970; null without one. */
  readonly oldestDueAtMs: number | null
}

/** Asks a store what waits for each of some destinations. */
export async function queueStates(
  store: Pick<DeliveryStore, 'ledger' | 'nextDue'>,
  destinationIds: readonly string[],
): Promise<readonly QueueState[]> {
  const dueTimes = await store.nextDue({ destinationIds })
  return Promise.all(
    destinationIds.map(async (destinationId) => {
      const { pending } = await store.ledger({ destinationId })
      const due = dueTimes.filter((time) => time.destinationId === destinationId)
      const oldestDueAtMs = due.length === 0 ? null : Math.min(...due.map((time) => time.dueAtMs))
      return { destinationId, pending, oldestDueAtMs }
    }),
  )
}
