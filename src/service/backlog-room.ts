import type { DeliveryStore } from '../delivery/index.ts'
import type { Destination } from '../model/index.ts'
import type { AddingBytes } from '../pipeline/index.ts'
import { sleep, type Clock } from '../runtime/index.ts'

const roomLookMs = 500

interface Backlogs {
  readonly store: Pick<DeliveryStore, 'destinationCounts'>
  readonly adding: AddingBytes
  readonly clock: Clock
}

/** Waits until all backlogs are less than half full: the other half is for sources. False if the signal aborts. */
export async function waitForRoom(
  backlogs: Backlogs,
  destinations: readonly Destination[],
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted && (await isHalfFull(destinations, backlogs))) {
    await sleep(backlogs.clock, roomLookMs, signal)
  }
  return !signal.aborted
}

async function isHalfFull(
  destinations: readonly Destination[],
  { store, adding }: Backlogs,
): Promise<boolean> {
  if (adding.isFull) return true
  const backlogs = await store.destinationCounts()
  const pending = new Map(backlogs.map((backlog) => [backlog.destinationId, backlog.pending]))
  return destinations.some(
    ({ id, enabled, backlogMax = Infinity }) => enabled && (pending.get(id) ?? 0) >= backlogMax / 2,
  )
}
