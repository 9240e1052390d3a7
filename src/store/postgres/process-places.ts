import { processGoneMs, type ProcessPlace } from '../../delivery/index.ts'

/** When a process joined a destination, and when it last named it; null if it still does. */
export type Membership = readonly [joinedAtMs: number, leftAtMs: number | null]

/** A live process and its destinations. */
export interface LiveProcess {
  readonly processId: string
  readonly destinations: ReadonlyMap<string, Membership>
}

/**
 * The places of a process among the live ones, one for each destination that it names. A process that
 * left a destination counts for as long as a dead one, because it may have requests in flight.
 */
export function placesOf(
  processId: string,
  processes: readonly LiveProcess[],
  nowMs: number,
): readonly ProcessPlace[] {
  const own = processes.find((process) => process.processId === processId)
  const places: ProcessPlace[] = []
  for (const [destinationId, [joinedAtMs, leftAtMs]] of own?.destinations ?? []) {
    if (leftAtMs !== null) continue
    let rank = 0
    let count = 0
    for (const other of processes) {
      const membership = other.destinations.get(destinationId)
      if (membership === undefined || !isMember(membership, nowMs)) continue
      count++
      const [otherJoinedAtMs] = membership
      const isBefore =
        otherJoinedAtMs < joinedAtMs ||
        (otherJoinedAtMs === joinedAtMs && other.processId < processId)
      if (isBefore) rank++
    }
    places.push({ destinationId, rank, processes: count, memberMs: nowMs - joinedAtMs })
  }
  return places
}

function isMember([, leftAtMs]: Membership, nowMs: number): boolean {
  return leftAtMs === null || leftAtMs > nowMs - processGoneMs
}
