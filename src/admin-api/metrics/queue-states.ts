import type { DeliveryStore } from '../../delivery/index.ts'

/** The backlog of a destination. */
export interface QueueState {
  readonly destinationId: string
  /** Pending deliveries, including those in flight. */
  readonly pending: number
  /** The earliest due time of deliveries not in flight, in milliseconds since 1970; null if there are none. */
  readonly oldestDueAtMs: number | null
}

/** Reads the backlogs of destinations from a store. */
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
