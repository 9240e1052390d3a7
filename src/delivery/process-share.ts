import { limits } from '../model/index.ts'
import { processGoneMs, type ProcessPlace } from './processes-port.ts'

/** How often a process sends a heartbeat. */
export const heartbeatMs = 2_000

/** Allowance for late timers, late ends of requests and late answers. */
const lateMs = 1_000

/**
 * How long after a heartbeat a process may start requests. These requests end before other processes count the
 * process as gone.
 */
export const placeHoldsMs: number = processGoneMs - limits.endpointDeadlineMs - lateMs

/**
 * Returns how many requests a process may have in flight at an endpoint. The processes get equal parts of the
 * endpoint's concurrency. The remainder goes to those that joined first.
 *
 * The parts never add up to more than `concurrency`, however processes join, leave, die and stall. This holds if
 * a process uses a place to start requests only for {@link placeHoldsMs}, and each request ends within its
 * deadline of 5 s or one second later:
 *
 * - Consider the processes with requests in flight. Each used a place younger than {@link processGoneMs} to start
 *   them. Before it sent anything, it had been a member for {@link processGoneMs}, or it was alone when it joined.
 *   So the places of these processes count one another, in the order in which the processes joined.
 * - Let there be k of these processes. The place with number i among them counts at least k processes in all, and
 *   at least i before it. More processes or a later place never make a part larger. So each part is at most as
 *   large as it would be with only these k, and those parts add up to `concurrency`.
 *
 * When a process leaves, or counts as gone, its requests have ended. The others take over its part with their next
 * heartbeat. A process that restarts again and again takes parts from those before it, but the first one always
 * keeps a part.
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
 * Returns the share of an endpoint's rate that a process may use, from 0 to 1: an equal share for each process
 * that may have a request in flight there. The shares never add up to more than 1, for the reasons given at
 * {@link shareOf}.
 */
export function rateShareOf(concurrency: number, place: ProcessPlace | undefined): number {
  return 1 / Math.min(place?.processes ?? 1, concurrency)
}

/** The time that a probe may take until all processes know its outcome. */
const probeMs = limits.endpointDeadlineMs + lateMs

/**
 * Returns how long a process holds back a due probe while others have their turn. The process whose rank follows
 * that of the process that found the endpoint down probes first. So the processes take turns, and one with a
 * broken network cannot keep the others from an endpoint for long. If a process doesn't probe, because it died or
 * missed the news, the next one does. Processes without a part of the requests have no turn.
 *
 * @param news - the rank of the process that found the endpoint down, and how long to send no request
 */
export function probeGraceMs(
  concurrency: number,
  { rank, processes }: Pick<ProcessPlace, 'rank' | 'processes'>,
  news: { readonly rank: number; readonly openMs: number },
): number {
  const senders = Math.min(processes, concurrency)
  // The other process may count more processes than this one, so its rank may be too high here.
  const last = (news.rank + 1) % senders
  return Math.min(((rank - last + senders) % senders) * probeMs, news.openMs)
}
