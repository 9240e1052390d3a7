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
 * Returns how many requests a process may have in flight at an endpoint. The processes get equal parts of the
 * endpoint's concurrency. The remainder goes to those that came first.
 *
 * The parts never exceed `concurrency` in sum, however processes come, leave, die and stall. This holds if a
 * process starts requests by a place only while the place holds ({@link placeHoldsMs}), and each request ends
 * within its deadline of 5 s, or the second after:
 *
 * - Each place that started a request in flight is younger than {@link processGoneMs}. Its process had been a
 *   member for that long before it sent anything, or was alone when it came. So all of these places count each
 *   other's processes, in the order in which they came.
 * - Let there be k such processes. A place of number i among them counts at least k processes in all, and at
 *   least i before it. A part never grows with more processes or a later place. So each part is at most what it
 *   would be with only these k, and those parts sum to `concurrency`.
 *
 * A process that leaves, or is found gone, has ended its requests. Others take its part over with their next
 * heartbeat. A process that restarts again and again takes parts from those before it, but the first one always
 * keeps something.
 *
 * @param concurrency - the requests that the endpoint may have in flight, the same in all processes
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
 * Returns the part of an endpoint's rate that a process may use: an equal part for each process that may have a
 * request in flight there. The parts never exceed the rate in sum, for the reasons of {@link shareOf}.
 */
export function rateShareOf(concurrency: number, place: ProcessPlace | undefined): number {
  return 1 / Math.min(place?.processes ?? 1, concurrency)
}

/** The time in which a probe ends and all processes learn its outcome. */
const probeMs = limits.endpointDeadlineMs + lateMs

/**
 * Returns how long a process waits with a due probe while others have their turn. The process after the one
 * that found the endpoint down probes first. So processes take turns, and one with a broken network cannot keep
 * the others from an endpoint for long. If a process doesn't probe, because it died or missed the news, the
 * next one does. Processes without a part of the requests have no turn.
 *
 * @param news - the rank of the process that found the endpoint down, and how long no request is sent
 */
export function probeGraceMs(
  concurrency: number,
  { rank, processes }: Pick<ProcessPlace, 'rank' | 'processes'>,
  news: { readonly rank: number; readonly openMs: number },
): number {
  const senders = Math.min(processes, concurrency)
  // The other process may count more processes than this one.
  const last = (news.rank + 1) % senders
  return Math.min(((rank - last + senders) % senders) * probeMs, news.openMs)
}
