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

/** What commands ask about deliveries. */
export interface AskedLog extends Pick<
  DeliveryLog,
  'list' | 'story' | 'retry' | 'discard' | 'audit'
> {
  /** How the destinations of the process that delivers stand; absent where only a store is asked. */
  destinations?(): Promise<readonly DestinationStanding[]>
}

/** What a command about deliveries works with. */
export interface LogContext {
  /** The deliveries. */
  readonly log: AskedLog
  /** Where they are. */
  readonly place: LogPlace['kind']
  /** Streams and the signal to end early. */
  readonly io: Io
  /** When it is, in milliseconds since 1970. */
  readonly nowMs: number
  /** How it is shown. */
  readonly view: LogView
}

/** How deliveries are shown. */
export interface LogView {
  /** NDJSON records instead of text. */
  readonly json: boolean
  /** False with `--no-color`. */
  readonly color: boolean
}

/** Deliveries that are read, or retried, at a time. */
export const deliveriesAtOnce = 500

/** What a command may do with the log, and how it is ended. */
export interface LogAccess {
  /** Whether it changes deliveries. */
  readonly write: boolean
  /** Whether it sees the whole URLs of endpoints. */
  readonly reveal: boolean
  /** Ends questions to a service early, with its reason as the error. */
  readonly stop: AbortSignal
}

/** Opens the log for as long as the work takes. */
export async function withDeliveryLog<Result>(
  place: LogPlace,
  { write, reveal, stop }: LogAccess,
  work: (log: AskedLog) => Promise<Result>,
): Promise<Result> {
  // Each brings along what the other does not need.
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

/** Deliveries in pages, newest first, up to a limit. The event loop turns before each, so that signals are heard. */
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
