import { limits } from '../model/index.ts'
import { processGoneMs, type ProcessPlace } from './processes-port.ts'

/** How often a process sends a heartbeat. */
export const heartbeatMs = 2_000

/** Time for late timers, late ends of requests and late answers. */
const lateMs = 1_000

/**
 * How long a process may start requests after it sent a heartbeat. Those requests have ended before other
 * processes find it gone.
 */
export const placeHoldsMs: number = processGoneMs - limits.endpointDeadlineMs - lateMs

/**
 * How many requests a process may have in flight at an endpoint, of all that the endpoint may have: equal
 * parts, and what is left over by rounding goes to those that came first.
 *
 * Over all processes that is never more than `concurrency`, however they come, go, die and stand still,
 * as long as each starts requests by a place only while it holds ({@link placeHoldsMs}), and each
 * request ends within its deadline of 5 s, or the second after:
 *
 * - Every place that requests in flight were started by is younger than {@link processGoneMs}. A process
 *   with such requests was there for that long before it sent any, or alone when it came: all of these
 *   places count each other's processes in, in the order in which they came.
 * - So of k such processes each place of the one that came as number i says that there are k processes or
 *   more, and i or more before it. A part is never larger for more processes, nor for a later one: it is
 *   at the most what it would be if there were these k alone, and those parts are `concurrency` in sum.
 *
 * A process that leaves has ended its requests, and one that is gone has too, so that others may take
 * over its part with their next heartbeat. A process that comes again and again takes parts of those before
 * it as long as it counts, but never the last one: the first of them always has something.
 *
 * @param concurrency - what the endpoint may have in flight, the same at all processes
 * @param place - undefined before the first heartbeat
 */
export function shareOf(concurrency: number, place: ProcessPlace | undefined): number {
  if (place === undefined) return 0
  const { processes, rank, memberMs } = place
  if (processes === 1) return concurrency
  if (memberMs < processGoneMs) return 0
  return Math.ceil((concurrency - Math.min(rank, concurrency)) / processes)
}

/**
 * The part of an endpoint's rate that a process may use: equal parts for all that may have a request in flight
 * there. Parts never exceed the rate in sum, for the reasons of {@link shareOf}.
 */
export function rateShareOf(concurrency: number, place: ProcessPlace | undefined): number {
  return 1 / Math.min(place?.processes ?? 1, concurrency)
}

/** The time in which a probe ends, and all know how it ended. */
const probeMs = limits.endpointDeadlineMs + lateMs

/**
 * How long after the moment of a probe a process leaves it to those before it. The process after the one that
 * found the endpoint down probes first, so that processes take turns: one whose own network is broken cannot
 * keep the others from an endpoint for long. If it does not, because it died or the news was lost, the next one
 * probes. Processes whose part of the requests is 0 have no turn.
 *
 * @param news - the rank of the process that found it down, and for how long nothing is sent
 */
export function probeGraceMs(
  concurrency: number,
  { rank, processes }: Pick<ProcessPlace, 'rank' | 'processes'>,
  news: { readonly rank: number; readonly openMs: number },
): number {
  const senders = Math.min(processes, concurrency)
  // The other one may count more processes.
  const last = (news.rank + 1) % senders
  return Math.min(((rank - last + senders) % senders) * probeMs, news.openMs)
}
