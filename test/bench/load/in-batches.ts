/** How much is offered in which portions. */
export interface Batches {
  /** How many over all. */
  readonly count: number
  /** How many are offered together. */
  readonly batchSize: number
  /** Batches that wait for their answer at once. */
  readonly batchesAtOnce: number
}

/** Offers so many, a few batches at once as the clients of a service do; resolves once all are taken. */
export async function inBatches(
  { count, batchSize, batchesAtOnce }: Batches,
  offer: (from: number, length: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  const offerOn = async (): Promise<void> => {
    while (next < count) {
      const from = next
      next += batchSize
      await offer(from, Math.min(batchSize, count - from))
    }
  }
  await Promise.all(Array.from({ length: batchesAtOnce }, offerOn))
}
