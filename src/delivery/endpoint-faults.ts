import { hiddenEndpoint, type Destination, type RequestRecord } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'

/** A lasting fault of an endpoint. Retries cannot fix it. */
export interface EndpointFault {
  /** The reason: `status_<n>`, the code of a certificate error, or the kind of refused address. */
  readonly reason: string
  /** How many requests have failed for this reason since the fault began. */
  readonly failures: number
  /** When the first one failed, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When the last one failed, in milliseconds since 1970. */
  readonly lastMs: number
}

/** How often to check whether faults are over. */
const lookMs = 30_000
/** If the endpoint accepts webhooks again, a fault is over after this time without a failure. */
const quietMs = 60_000
/** If the endpoint has accepted no webhook, perhaps because none was sent, a fault is over after this time. */
const silentMs = 5 * 60_000
/** Maximum number of reasons to count separately per endpoint; all others count as `other`. */
const reasonsMax = 16

interface Lasting {
  readonly destinationId: string
  readonly url: string
  readonly reason: string
  readonly sinceMs: number
  failures: number
  lastMs: number
  /** Whether the endpoint has accepted a webhook since the last failure. */
  tookSince: boolean
}

/**
 * Notes failures that no retry can fix: untrusted certificates, refused addresses and answers such as 404. These
 * fail deliveries without opening the breaker. Logs each fault once when it begins, and with a count when it is over.
 */
export class EndpointFaults {
  readonly #runtime: Pick<Runtime, 'clock' | 'log'>
  /** Keyed by destination, then URL, then reason. Every configured endpoint has an entry. */
  #faults: ReadonlyMap<string, Map<string, Map<string, Lasting>>> = new Map()
  #look: Timer | undefined

  constructor(runtime: Pick<Runtime, 'clock' | 'log'>) {
    this.#runtime = runtime
  }

  /** Sets the endpoints to watch, and ends the faults of all others. */
  configure(destinations: readonly Pick<Destination, 'id' | 'endpoints'>[]): void {
    const before = this.#faults
    const now = new Map(
      destinations.map(({ id, endpoints }) => [
        id,
        new Map(
          endpoints.map(({ url }) => [url, before.get(id)?.get(url) ?? new Map<string, Lasting>()]),
        ),
      ]),
    )
    this.#end(({ destinationId, url }) => now.get(destinationId)?.has(url) !== true)
    this.#faults = now
  }

  /** Notes how a request ended. */
  note(record: RequestRecord): void {
    const faults = this.#faults.get(record.destinationId)?.get(record.url)
    if (faults === undefined) return
    if (record.outcome === 'final') this.#failed(record, faults)
    else if (record.outcome === 'success') {
      for (const fault of faults.values()) fault.tookSince = true
    }
  }

  /** Returns the lasting faults of an endpoint, oldest first. */
  of(destinationId: string, url: string): readonly EndpointFault[] {
    const faults = this.#faults.get(destinationId)?.get(url)?.values() ?? []
    return Array.from(faults, ({ reason, failures, sinceMs, lastMs }) => ({
      reason,
      failures,
      sinceMs,
      lastMs,
    }))
  }

  /** Logs the count of each lasting fault, and notes no more failures. Idempotent. */
  close(): void {
    this.#end(() => true, 'webhooks to an endpoint failed and were not retried')
    this.#look?.cancel()
    this.#faults = new Map()
  }

  #failed(record: RequestRecord, faults: Map<string, Lasting>): void {
    const { clock, log } = this.#runtime
    const { destinationId, url, messageId, error } = record
    const nowMs = clock.nowMs()
    const named = error ?? 'other'
    const reason = faults.has(named) || faults.size < reasonsMax ? named : 'other'
    const known = faults.get(reason)
    if (known !== undefined) {
      known.failures++
      known.lastMs = nowMs
      known.tookSince = false
      return
    }
    const times = { sinceMs: nowMs, lastMs: nowMs }
    faults.set(reason, { destinationId, url, reason, failures: 1, ...times, tookSince: false })
    const fields = { destinationId, url: hiddenEndpoint(url), reason, messageId }
    log.warn(
      'webhooks to an endpoint are failing and are not retried; correct the endpoint or its URL, then run ' +
        '`evroute deliveries retry --state failed --destination <id>`',
      fields,
    )
    this.#look ??= clock.schedule(lookMs, () => this.#lookAgain())
  }

  #lookAgain(): void {
    const { clock } = this.#runtime
    const nowMs = clock.nowMs()
    const areLeft = this.#end(
      ({ lastMs, tookSince }) => nowMs - lastMs >= (tookSince ? quietMs : silentMs),
    )
    this.#look = areLeft ? clock.schedule(lookMs, () => this.#lookAgain()) : undefined
  }

  /** Ends and logs faults that are over. Returns whether any fault is left. */
  #end(
    isOver: (fault: Lasting) => boolean,
    message = 'webhooks to an endpoint no longer fail this way',
  ): boolean {
    let areLeft = false
    for (const endpoints of this.#faults.values()) {
      for (const faults of endpoints.values()) {
        for (const [key, fault] of faults) {
          if (isOver(fault)) {
            faults.delete(key)
            const { destinationId, url, reason, failures } = fault
            const fields = { destinationId, url: hiddenEndpoint(url), reason, failures }
            this.#runtime.log.info(message, fields)
          }
        }
        areLeft ||= faults.size > 0
      }
    }
    return areLeft
  }
}
