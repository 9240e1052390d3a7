/** A process's rank among those that send to a destination, at the time of its heartbeat. */
export interface ProcessMembership {
  readonly destinationId: string
  /** Its position in the order in which the processes joined, from 0. */
  readonly rank: number
  /** The number of processes, including this one. */
  readonly processes: number
  /**
   * How long this process has been a member without a gap. A process that was alone when it joined counts as having
   * joined {@link processGoneMs} earlier, because no other process could have requests in flight.
   */
  readonly memberMs: number
}

/** A report that a process is alive and sends to these destinations. */
export interface Heartbeat {
  /** Identifies one run of a process. */
  readonly processId: string
  /** Without duplicates. */
  readonly destinationIds: readonly string[]
}

/** News about an endpoint, from one process to the others. */
export interface BreakerNews {
  readonly destinationId: string
  /** The endpoint's URL, shortened by `hiddenEndpoint`. */
  readonly endpoint: string
  /** For how long, counted from now, to send no requests; 0 once the endpoint answers again. */
  readonly openMs: number
  /** The rank of the sender among the processes that deliver to the destination. */
  readonly rank: number
}

/** The other processes, as the dispatcher sees them. */
export interface Peers extends Pick<DeliveringProcesses, 'tell'> {
  /** Returns how this process shares a destination with others; undefined while unknown. */
  membershipOf(destinationId: string): ProcessMembership | undefined
}

/** A process without a heartbeat for this long counts as gone. */
export const processGoneMs = 10_000

/**
 * The processes that deliver from one store, and share the concurrency of each endpoint. Engines that several processes
 * can use at once implement this port.
 *
 * The engine handles calls of `heartbeat` and `leave` one at a time: each sees the effects of all calls that were
 * answered before it. It dates heartbeats with its own clock, so that clocks of different machines are never compared.
 * Every method rejects with EvrouteError `store_unusable` if the engine cannot be used, and with `store_closed` after
 * `close()`.
 */
export interface DeliveringProcesses {
  /**
   * Records that a process is alive, and returns its membership at each destination, in any order. A process that stops
   * naming a destination counts as gone there after {@link processGoneMs}; if it names the destination later, it joins
   * again, at the end of the ranking.
   */
  heartbeat(request: Heartbeat): Promise<readonly ProcessMembership[]>
  /** Removes a process at once; it must have no request in flight. Ignores an unknown process. */
  leave(request: { readonly processId: string }): Promise<void>
  /** Sends news to the other processes, without waiting. A process that misses it finds out for itself. */
  tell(news: BreakerNews): void
  /** Sets the function to call with further news from other processes. */
  listen(heard: (news: BreakerNews) => void): void
}
