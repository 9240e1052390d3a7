import { limits } from '../model/index.ts'
import { processGoneMs, type ProcessMembership } from './processes-port.ts'

/** How often a process sends a heartbeat. */
export const heartbeatMs = 2_000

/** Allowance for timers, ends of requests and answers that are late. */
const lateMs = 1_000

/** How long after a heartbeat a process may start requests, so that they end before it counts as gone. */
export const membershipHoldsMs: number = processGoneMs - limits.endpointDeadlineMs - lateMs

/**
 * Returns how many requests a process may have in flight at an endpoint. Processes get equal parts of the endpoint's
 * concurrency; the remainder goes to those that joined first.
 *
 * The parts never add up to more than `concurrency`, however processes join, leave, die and stall, as long as a
 * process starts requests for at most {@link membershipHoldsMs} after its heartbeat, and each request ends at most one
 * second after its deadline of 5 s:
 *
 * - Consider the processes with requests in flight. Each started them with a membership younger than
 *   {@link processGoneMs}. Before it sent anything, it had been a member for {@link processGoneMs}, or was alone when
 *   it joined. So the memberships of these processes count one another, in the order in which the processes joined.
 * - If there are k of them, the i-th membership counts at least k processes in all, and at least i before it. More
 *   processes or a later rank never make a part larger. So each part is at most as large as with only these k,
 *   whose parts add up to `concurrency`.
 *
 * When a process leaves or counts as gone, its requests have ended, and the others take over its part with their next
 * heartbeat. A process that keeps restarting takes parts from those before it, but the first one always keeps a part.
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
 * Returns how long a process holds back a due probe so that others can go first. One process found the endpoint down;
 * the process with the next rank probes first. If it doesn't, because it died or missed the news, the one after it
 * does. So a process with a broken network cannot keep the others from an endpoint for long. Processes that may send
 * no requests have no turn.
 *
 * @param news - the rank of the process that found the endpoint down, and how long to send no requests
 */
export function probeGraceMs(
  concurrency: number,
  { rank, processes }: Pick<ProcessMembership, 'rank' | 'processes'>,
  news: { readonly rank: number; readonly openMs: number },
): number {
  const senders = Math.min(processes, concurrency)
  // The other process may count more processes than this one, so its rank may be too high here.
  const last = (news.rank + 1) % senders
  return Math.min(((rank - last + senders) % senders) * probeMs, news.openMs)
}
