/** The place of a process among those that send to one destination, at the moment of its heartbeat. */
export interface ProcessPlace {
  /** The destination. */
  readonly destinationId: string
  /** Its position in the order in which the processes came, from 0. */
  readonly rank: number
  /** The number of processes, including this one. */
  readonly processes: number
  /**
   * How long this process has been a member without a gap, in milliseconds. It counts {@link processGoneMs}
   * more if it found no other process when it came, because there were no requests to wait for.
   */
  readonly memberMs: number
}

/** A sign of life of a process, and where it sends. */
export interface Heartbeat {
  /** Identifies one run of a process. */
  readonly processId: string
  /** The destinations that it sends to, each once. */
  readonly destinationIds: readonly string[]
}

/** News about an endpoint, from one process to the others. */
export interface BreakerNews {
  /** The destination. */
  readonly destinationId: string
  /** The endpoint, by its hidden URL. */
  readonly endpoint: string
  /** How long no request is sent, from now on; 0 once the endpoint answers again. */
  readonly openMs: number
  /** The rank of the process at the destination. */
  readonly rank: number
}

/** The other processes, as the dispatcher sees them. */
export interface Peers extends Pick<DeliveringProcesses, 'tell'> {
  /** Returns the place of this process at a destination; undefined while it is not known. */
  placeOf(destinationId: string): ProcessPlace | undefined
}

/** A process without a heartbeat for this long counts as gone. */
export const processGoneMs = 10_000

/**
 * The processes that deliver from one store, so that they can share an endpoint's concurrency. The delivery
 * room owns this port. Engines that several processes can deliver from implement it.
 *
 * The engine handles heartbeats and leaves one at a time: each sees all that were answered before. It dates
 * heartbeats with its own clock when it sees them, so clocks of different machines are never compared. Every
 * method rejects with EvrouteError `store_unusable` if the engine cannot be used, and with `store_closed` after
 * `close()`.
 */
export interface DeliveringProcesses {
  /**
   * Records that a process lives. At a destination that it did not name in the last {@link processGoneMs} it is
   * a newcomer, with the last rank. Once it stops naming a destination, it counts as gone there after the same
   * time.
   *
   * @returns its place at each of the destinations, in any order
   */
  heartbeat(request: Heartbeat): Promise<readonly ProcessPlace[]>
  /**
   * Removes a process at once. It must have no request under way. Removing an unknown process changes nothing.
   */
  leave(request: { readonly processId: string }): Promise<void>
  /** Sends news to the other processes, without waiting. If news is lost, a process finds out by itself. */
  tell(news: BreakerNews): void
  /** Calls the listener with the news of other processes from now on. */
  listen(heard: (news: BreakerNews) => void): void
}
