export interface Batches {
  /** Items in total. */
  readonly count: number
  /** Items per batch. */
  readonly batchSize: number
  /** Batches in flight. */
  readonly batchesAtOnce: number
}

/**
 * Offers items in batches, with several batches in flight like the clients of a service. Resolves once all
 * are accepted.
 */
export async function inBatches(
  { count, batchSize, batchesAtOnce }: Batches,
  offer: (from: number, length: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const offerUntilDone = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next += batchSize
      await offer(from, Math.min(batchSize, count - from))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, offerUntilDone))
}
