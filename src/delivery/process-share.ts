import { limits } from '../model/index.ts'
import { processGoneMs, type ProcessMembership } from './processes-port.ts'

/** How often a process sends a heartbeat. */
export const heartbeatMs = 2_000

/** How late a timer, the end of a request or an answer may be. */
const lateMs = 1_000

/** How long after a heartbeat a process may start requests, so that they end before it counts as gone. */
export const membershipHoldsMs: number = processGoneMs - limits.endpointDeadlineMs - lateMs

/**
 * Returns how many requests a process may have in flight at an endpoint. Processes get equal parts of the endpoint's
 * concurrency; the remainder goes to those that joined first.
 *
 * The parts never add up to more than `concurrency`, however processes join, leave, die and stall. This holds if a
 * process starts requests for at most {@link membershipHoldsMs} after its heartbeat, and a request ends at most one
 * second after its deadline of 5 s. The proof:
 *
 * - Number the processes with requests in flight from 0 to k - 1, in the order in which they joined. The membership
 *   with which each of them started its requests is still younger than {@link processGoneMs}.
 * - No process sends anything until it has been a member for {@link processGoneMs}, unless it was alone when it joined.
 *   So the memberships of these k processes all count one another.
 * - The membership of process i therefore has at least k `processes`, and a `rank` of at least i. More processes or a
 *   higher rank never make a part larger. With exactly k processes and rank i, the parts add up to `concurrency`.
 *
 * When a process leaves or counts as gone, its requests have ended. The others take over its part with their next
 * heartbeat. A process that keeps restarting makes the parts of earlier processes smaller, but the first one always
 * keeps a part.
 *
 * @param concurrency - limit on requests in flight at the endpoint, the same in all processes
 * @param membership - undefined before the first heartbeat
 */
export function shareOf(concurrency: number, membership: ProcessMembership | undefined): number {
  if (membership === undefined) return 0
  const { processes, rank, memberMs } = membership
  if (processes === 1) return concurrency
  if (memberMs < processGoneMs) return 0
  return Math.ceil((concurrency - Math.min(rank, concurrency)) / processes)
}

/**
 * Returns the share of an endpoint's rate that a process may use: equal for all processes that may have a request in
 * flight there. The shares never add up to more than 1, for the same reasons as in {@link shareOf}.
 */
export function rateShareOf(
  concurrency: number,
  membership: ProcessMembership | undefined,
): number {
  return 1 / Math.min(membership?.processes ?? 1, concurrency)
}

/** How long it may take until all processes know the outcome of a probe. */
const probeMs = limits.endpointDeadlineMs + lateMs

/**
 * Returns how long a process holds back a due probe so that others can go first. After a process finds the endpoint
 * down, the process with the next rank probes first. If it doesn't, because it died or missed the news, the one after
 * it does. So a process with a broken network cannot keep the others from an endpoint for long. Processes without a
 * share of the concurrency are skipped.
 *
 * @param news - the rank of the process that found the endpoint down, and how long to send no requests
 */
export function probeGraceMs(
  concurrency: number,
  { rank, processes }: Pick<ProcessMembership, 'rank' | 'processes'>,
  news: { readonly rank: number; readonly openMs: number },
): number {
  const senders = Math.min(processes, concurrency)
  // `news.rank` can be `senders` or higher, because the other process may count more processes than this one.
  const last = (news.rank + 1) % senders
  return Math.min(((rank - last + senders) % senders) * probeMs, news.openMs)
}
