/** A process's place among those that send to one destination, as of its heartbeat. */
export interface ProcessPlace {
  /** The destination. */
  readonly destinationId: string
  /** Its position in the order in which the processes joined, from 0. */
  readonly rank: number
  /** The number of processes, including this one. */
  readonly processes: number
  /**
   * How long this process has been a member without a gap, in milliseconds. {@link processGoneMs} is added if it
   * found no other process when it joined, because there were no requests to wait for.
   */
  readonly memberMs: number
}

/** A process's sign of life, and the destinations that it sends to. */
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
  /** How long to send no request, from now on; 0 once the endpoint answers again. */
  readonly openMs: number
  /** The rank that the sending process has at the destination. */
  readonly rank: number
}

/** The other processes, as the dispatcher sees them. */
export interface Peers extends Pick<DeliveringProcesses, 'tell'> {
  /** Returns the place of this process at a destination; undefined while it is unknown. */
  placeOf(destinationId: string): ProcessPlace | undefined
}

/** A process without a heartbeat for this long counts as gone. */
export const processGoneMs = 10_000

/**
 * The processes that deliver from one store. They share the concurrency of each endpoint. The delivery room owns
 * this port, and the engines that several processes can deliver from implement it.
 *
 * The engine handles calls of `heartbeat` and `leave` one at a time: each call sees the effects of all calls that were
 * answered before it. The engine dates heartbeats with its own clock, so clocks of different machines are never
 * compared. Every method rejects with EvrouteError `store_unusable` if the engine cannot be used, and with
 * `store_closed` after `close()`.
 */
export interface DeliveringProcesses {
  /**
   * Records that a process is alive. A process that stops naming a destination counts as gone there after
   * {@link processGoneMs}. If it names the destination again after that, it joins anew, with the last rank.
   *
   * @returns its place at each of the destinations, in any order
   */
  heartbeat(request: Heartbeat): Promise<readonly ProcessPlace[]>
  /**
   * Removes a process at once. It must have no request in flight. Removing an unknown process changes nothing.
   */
  leave(request: { readonly processId: string }): Promise<void>
  /** Sends news to the other processes, without waiting. A process that misses it finds out by itself. */
  tell(news: BreakerNews): void
  /** Calls the listener with all further news from other processes. */
  listen(heard: (news: BreakerNews) => void): void
}
