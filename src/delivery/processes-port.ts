/** The place of a process among those that send to one destination, at the moment of its heartbeat. */
export interface ProcessPlace {
  /** The destination. */
  readonly destinationId: string
  /** From 0 on, in the order in which the processes came. */
  readonly rank: number
  /** How many there are, this one included. */
  readonly processes: number
  /**
   * For how long this one has been among them without a gap, in milliseconds; {@link processGoneMs} more
   * for one that found no other when it came, and has no requests of others to wait for.
   */
  readonly memberMs: number
}

/** That a process lives, and where it sends. */
export interface Heartbeat {
  /** Stands for one process, and for one run of it. */
  readonly processId: string
  /** The destinations that it sends to, each once. */
  readonly destinationIds: readonly string[]
}

/** What a process tells the others of an endpoint. */
export interface BreakerNews {
  /** The destination. */
  readonly destinationId: string
  /** The endpoint, by its hidden URL. */
  readonly endpoint: string
  /** How long nothing is sent, from now on; 0 once the endpoint answers again. */
  readonly openMs: number
  /** The rank of the process at the destination. */
  readonly rank: number
}

/** The other processes, as a dispatcher knows of them. */
export interface Peers extends Pick<DeliveringProcesses, 'tell'> {
  /** The place of this process at a destination; undefined while it is not known. */
  placeOf(destinationId: string): ProcessPlace | undefined
}

/** A process without a heartbeat for so long is gone. */
export const processGoneMs = 10_000

/**
 * The processes that deliver from one store, so that they can share what an endpoint may get: the port
 * that the delivery room owns and engines implement that several processes can deliver from at once.
 *
 * Heartbeats and leaves happen one after the other, whatever they are about: each sees all that were
 * answered before. Their times are the engine's, which all processes share, and count from the moment it
 * sees a heartbeat: clocks of different machines are never compared. Every method rejects with EvrouteError
 * `store_unusable` where the engine cannot be used, and `store_closed` after `close()`.
 */
export interface DeliveringProcesses {
  /**
   * A process lives. At a destination that it did not name in a heartbeat of the last {@link processGoneMs}
   * it is a newcomer, of the last rank. It leaves a destination that it names no more, as a process without
   * heartbeats does.
   *
   * @returns its place at each of the destinations, in any order
   */
  heartbeat(request: Heartbeat): Promise<readonly ProcessPlace[]>
  /**
   * Removes a process at once, for every later heartbeat. It must have no request under way. Removing an
   * unknown process changes nothing.
   */
  leave(request: { readonly processId: string }): Promise<void>
  /** Tells the other processes, without waiting. News may be lost: then a process finds out by itself. */
  tell(news: BreakerNews): void
  /** Calls the listener with the news of other processes from now on. */
  listen(heard: (news: BreakerNews) => void): void
}
