import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  readableLog,
  type DeliveryFilter,
  type DeliveryLog,
  type LoggedDelivery,
} from '../../delivery/index.ts'
import type { Io } from '../io.ts'
import type { LogPlace } from './log-place.ts'
import type { DestinationStanding } from './waits.ts'

/** The delivery log, as the commands use it. */
export interface AskedLog extends Pick<
  DeliveryLog,
  'list' | 'story' | 'retry' | 'discard' | 'audit'
> {
  /** The status of the destinations; absent if only a store is open. */
  destinations?(): Promise<readonly DestinationStanding[]>
}

/** The context of a command about deliveries. */
export interface LogContext {
  readonly log: AskedLog
  /** Whether `log` reads a store or asks a service. */
  readonly place: LogPlace['kind']
  /** Streams and stop signal. */
  readonly io: Io
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  readonly view: LogView
}

/** How deliveries are shown. */
export interface LogView {
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/** Deliveries per page or per retry request. */
export const deliveriesAtOnce = 500

/** The access that a command needs. */
export interface LogAccess {
  /** Whether the command changes deliveries. */
  readonly write: boolean
  /** Whether the command sees full endpoint URLs. */
  readonly reveal: boolean
  /** Aborts requests to a service. Its reason becomes the error. */
  readonly stop: AbortSignal
}

/** Opens the log, runs the work, and closes the log. */
export async function withDeliveryLog<Result>(
  place: LogPlace,
  { write, reveal, stop }: LogAccess,
  work: (log: AskedLog) => Promise<Result>,
): Promise<Result> {
  // Import on demand: each branch has dependencies that the other does not need.
  if (place.kind === 'service') {
    const { ServiceLog } = await import('./service-log.ts')
    return work(new ServiceLog(place, { reveal, stop }))
  }
  const { openDeliveryLog } = await import('../../store/index.ts')
  const log = await openDeliveryLog(place.url, { write })
  try {
    return await work({
      ...readableLog(log, reveal),
      retry: (request) => log.retry(request),
      discard: (request) => log.discard(request),
      audit: () => log.audit(),
    })
  } finally {
    await log.close()
  }
}

/**
 * Pages of deliveries, newest first, up to a limit. The event loop turns before each page, so that signals
 * are handled.
 */
export async function* pagesOf(
  { log, io }: Pick<LogContext, 'log' | 'io'>,
  { filter, limit }: { readonly filter: DeliveryFilter; readonly limit: number },
): AsyncGenerator<readonly LoggedDelivery[]> {
  let left = limit
  let beforeId: number | undefined
  while (left > 0) {
    await nextTurn()
    if (io.stop.aborted) return
    const asked = Math.min(left, deliveriesAtOnce)
    const page = await log.list({ filter, limit: asked, beforeId })
    if (page.length > 0) yield page
    if (page.length < asked) return
    beforeId = page.at(-1)?.id
    left -= page.length
  }
}
