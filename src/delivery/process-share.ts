import { limits } from '../model/index.ts'
import { processGoneMs, type ProcessPlace } from './processes-port.ts'

/** How often a process beats. */
export const processBeatMs = 2_000

/** For what comes late: a timer, the end of a request, an answer. */
const lateMs = 1_000

/**
 * For how long a process may start requests by its place, from the moment on at which it sent its beat.
 * What it started has ended by the time that others find it gone.
 */
export const placeHoldsMs: number = processGoneMs - limits.endpointDeadlineMs - lateMs

/**
 * How many requests a process may have in flight at an endpoint, of all that the endpoint may have.
 *
 * Over all processes that is never more than `concurrency`, however they come, go, die and stand still,
 * as long as each starts requests by a place only while it holds ({@link placeHoldsMs}), and each
 * request ends within its deadline of 5 s, or the second after:
 *
 * - Every place that requests in flight were started by is younger than {@link processGoneMs}. Whoever
 *   has such requests was there for that long before it sent any, or alone when it came: all of these
 *   places count each other's processes in. Equal parts, rounded down, are then never too much.
 * - What is left over by rounding goes to some of them, but only while they have been the same ones for
 *   that long: then all who take a part of it divide by the same list.
 *
 * A process that leaves has ended its requests, and one that is gone has too, so that others may take
 * over its part with their next beat. Where there are more processes than `concurrency`, everything is
 * left over: nothing is sent there for {@link processGoneMs} whenever one of them comes or goes.
 *
 * @param concurrency - what the endpoint may have in flight, the same at all processes
 * @param place - undefined before the first beat
 */
export function shareOf(concurrency: number, place: ProcessPlace | undefined): number {
  if (place === undefined) return 0
  const { processes, memberMs, unchangedMs } = place
  if (processes === 1) return concurrency
  if (memberMs < processGoneMs) return 0
  const each = Math.floor(concurrency / processes)
  if (unchangedMs < processGoneMs) return each
  return turnOf(place) < concurrency % processes ? each + 1 : each
}

/** The rank of a process, rotated so that not the same ones get more, or anything at all, everywhere. */
function turnOf({ destinationId, rank, processes }: ProcessPlace): number {
  return (rank + hashOf(destinationId)) % processes
}

/** A number from 0 to 2^32 - 1, the same in every process: FNV-1a over UTF-16. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return hash >>> 0
}
