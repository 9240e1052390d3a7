import {
  hiddenEndpoint,
  type Destination,
  type GivenUpDeliveries,
  type RequestRecord,
} from '../model/index.ts'
import type { LogFields, Runtime, Timer } from '../runtime/index.ts'

/** A lasting fault of an endpoint. Retries cannot fix it. */
export interface EndpointFault {
  /** The reason: `status_<n>`, the code of a certificate error, or the kind of refused address. */
  readonly reason: string
  /** How many requests have failed for this reason since the fault began. */
  readonly failures: number
  /** When the first failure was, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When the latest failure was, in milliseconds since 1970. */
  readonly lastMs: number
}

const lookMs = 30_000
/** A fault is over after this time without a failure. */
const quietMs = 60_000
/** This longer time applies if the endpoint has accepted no webhook since the failure: perhaps none was sent. */
const silentMs = 5 * 60_000
/** Maximum number of reasons to count separately per endpoint; all others count as `other`. */
const reasonsMax = 16

interface FaultTexts {
  readonly begins: string
  readonly ends: string
  /** Logged if the endpoint is removed or the process ends during the fault. */
  readonly lasted: string
  /** The name of the field with the number of failures. */
  readonly count: string
}

const ofEndpoint: FaultTexts = {
  begins:
    'webhooks to an endpoint are failing and are not retried; correct the endpoint or its URL, then run ' +
    '`evroute deliveries retry --state failed --destination <id>`',
  ends: 'webhooks to an endpoint no longer fail this way',
  lasted: 'webhooks to an endpoint failed and were not retried',
  count: 'failures',
}

const ofBacklog: FaultTexts = {
  begins:
    'the backlog of a destination is full: new deliveries fail as backlog_full until its endpoint ' +
    'accepts webhooks; repair the endpoint or raise backlogMax, then run ' +
    '`evroute deliveries retry --state failed --destination <id>`',
  ends: 'a destination has room for new deliveries again',
  lasted: 'deliveries failed because the backlog of a destination was full',
  count: 'failed',
}

/** A fault with this `url` is a full backlog. */
const backlog = ''

interface Failure extends Pick<RequestRecord, 'destinationId' | 'url' | 'error'> {
  readonly messageId?: string
}

interface Lasting {
  readonly destinationId: string
  readonly url: string
  readonly reason: string
  readonly sinceMs: number
  failures: number
  lastMs: number
  /** The fault is over after this time without a failure. */
  quietMs: number
}

/**
 * Logs the faults of destinations that a retry does not fix. One kind is a request that fails for good, for example
 * with a 404 or an untrusted certificate. The other is a full backlog that refuses new deliveries. A fault is logged
 * when it begins, and once more with a count when it is over.
 */
export class DestinationFaults {
  readonly #runtime: Pick<Runtime, 'clock' | 'log'>
  /** Keyed by destination, then URL or {@link backlog}, then reason. Has an entry for every configured endpoint. */
  #faults: ReadonlyMap<string, Map<string, Map<string, Lasting>>> = new Map()
  #look: Timer | undefined

  constructor(runtime: Pick<Runtime, 'clock' | 'log'>) {
    this.#runtime = runtime
  }

  /** Sets the destinations and endpoints to watch. Ends the faults of destinations and endpoints that are removed. */
  configure(destinations: readonly Pick<Destination, 'id' | 'endpoints'>[]): void {
    const before = this.#faults
    const now = new Map(
      destinations.map(({ id, endpoints }) => {
        const keys = [backlog, ...endpoints.map(({ url }) => url)]
        const faultsAt = (key: string) => before.get(id)?.get(key) ?? new Map<string, Lasting>()
        return [id, new Map(keys.map((key) => [key, faultsAt(key)]))]
      }),
    )
    this.#end('lasted', ({ destinationId, url }) => now.get(destinationId)?.has(url) !== true)
    this.#faults = now
  }

  note(record: RequestRecord): void {
    if (record.outcome === 'final') this.#failed(record, 1)
    else if (record.outcome === 'success') {
      const faults = this.#faults.get(record.destinationId)?.get(record.url)
      for (const fault of faults?.values() ?? []) fault.quietMs = quietMs
    }
  }

  /** Notes deliveries that failed because the backlog of their destination was full. */
  noteFull({ destinationId, deliveries }: GivenUpDeliveries): void {
    this.#failed({ destinationId, url: backlog, error: 'backlog_full' }, deliveries)
  }

  /** Returns the faults of an endpoint since it last accepted a webhook, oldest first. */
  of(destinationId: string, url: string): readonly EndpointFault[] {
    const faults = [...(this.#faults.get(destinationId)?.get(url)?.values() ?? [])]
    return faults.filter((fault) => fault.quietMs === silentMs)
  }

  /** Logs the count of each lasting fault, and notes no more failures. Idempotent. */
  close(): void {
    this.configure([])
    this.#look?.cancel()
  }

  #failed({ destinationId, url, messageId, error }: Failure, failures: number): void {
    const faults = this.#faults.get(destinationId)?.get(url)
    if (faults === undefined) return
    const { clock, log } = this.#runtime
    const lastMs = clock.nowMs()
    const named = error ?? 'other'
    const reason = faults.has(named) || faults.size < reasonsMax ? named : 'other'
    const known = faults.get(reason)
    const changed = { lastMs, quietMs: url === backlog ? quietMs : silentMs }
    if (known !== undefined) {
      Object.assign(known, changed, { failures: known.failures + failures })
      return
    }
    const fault = { destinationId, url, reason, sinceMs: lastMs, failures, ...changed }
    faults.set(reason, fault)
    log.warn(textsOf(fault).begins, { ...fieldsOf(fault), messageId })
    this.#look ??= clock.schedule(lookMs, () => this.#lookAgain())
  }

  #lookAgain(): void {
    const { clock } = this.#runtime
    const nowMs = clock.nowMs()
    const areLeft = this.#end('ends', (fault) => {
      // Never later than now, so that setting the clock back does not prolong the fault.
      fault.lastMs = Math.min(fault.lastMs, nowMs)
      return nowMs - fault.lastMs >= fault.quietMs
    })
    this.#look = areLeft ? clock.schedule(lookMs, () => this.#lookAgain()) : undefined
  }

  /** Ends and logs faults that are over. Returns whether any fault is left. */
  #end(line: 'ends' | 'lasted', isOver: (fault: Lasting) => boolean): boolean {
    let areLeft = false
    for (const endpoints of this.#faults.values()) {
      for (const faults of endpoints.values()) {
        for (const [key, fault] of faults) {
          if (!isOver(fault)) continue
          faults.delete(key)
          const { [line]: message, count } = textsOf(fault)
          this.#runtime.log.info(message, { ...fieldsOf(fault), [count]: fault.failures })
        }
        areLeft ||= faults.size > 0
      }
    }
    return areLeft
  }
}

function textsOf({ url }: Lasting): FaultTexts {
  return url === backlog ? ofBacklog : ofEndpoint
}

function fieldsOf({ destinationId, url, reason }: Lasting): LogFields {
  return url === backlog ? { destinationId } : { destinationId, url: hiddenEndpoint(url), reason }
}
