import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { AddOutcome } from '../../delivery/index.ts'
import {
  givenUpStates,
  type EndpointChange,
  type GivenUpDeliveries,
  type RejectionCode,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'
import type { Observer, Runtime } from '../../runtime/index.ts'
import { BreakerBoard, breakerStates, type EndpointNames } from './breaker-board.ts'
import { processMetrics } from './process-metrics.ts'
import { RecentActivity } from './recent-activity.ts'
import { SourceActivity, type LatestRejected } from './source-activity.ts'
import type { StoreFigures } from './store-figures.ts'

/** What metrics are made of. */
export interface MetricsOptions {
  /** What the store said last, if this process tells of it. */
  readonly figures: () => StoreFigures | undefined
  /** The clock. */
  readonly runtime: Pick<Runtime, 'clock'>
}

/** From five milliseconds to four hours, the window of retries. */
const latencyBucketsSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400,
]

/** Reasons of failed requests that are told apart per destination; the rest is `other`. */
const reasonsMax = 32

/** Every outcome of a call that was accepted; what else becomes of one is that it is rejected. */
const acceptedOutcomes: readonly string[] = [
  'routed',
  'filtered',
  'duplicate',
  'suppressed',
] satisfies readonly AddOutcome[]

/**
 * Counts what a service does and tells it to Prometheus. It is the observer of deliveries and of the
 * tracking API; labels are ids, codes and URLs of the configuration, never what events hold.
 */
export class Metrics implements Observer {
  /** How the endpoints of the configured destinations stand. */
  readonly breakers: BreakerBoard = new BreakerBoard()
  /** The last hour of this process. */
  readonly recent: RecentActivity
  /** What sources sent to this process. */
  readonly sources: SourceActivity
  readonly #registry = new Registry()
  readonly #options: MetricsOptions
  readonly #counters = countersIn(this.#registry)
  readonly #gauges = gaugesIn(this.#registry)
  readonly #latency: Histogram<'destination'>
  /** Reasons of failed requests by destination. An endpoint chooses its answers. */
  readonly #reasons = new Map<string, Set<string>>()

  constructor(options: MetricsOptions) {
    this.#options = options
    this.recent = new RecentActivity(options.runtime.clock)
    this.sources = new SourceActivity(options.runtime.clock)
    this.#latency = new Histogram({
      name: 'evroute_delivery_latency_seconds',
      help: 'Time from the acceptance of an event until the answer 2xx of an endpoint is written down.',
      labelNames: ['destination'],
      buckets: latencyBucketsSeconds,
      registers: [this.#registry],
    })
    processMetrics()
  }

  /** The media type of {@link text}. */
  get contentType(): string {
    return this.#registry.contentType
  }

  /** Names all destinations there are now: only those have metrics of their endpoints. */
  configured(destinations: readonly EndpointNames[]): void {
    this.breakers.configure(destinations)
  }

  /** Calls of a source came to the same end: accepted, or rejected with a code. */
  calls(counted: {
    readonly sourceId: string
    readonly outcome: AddOutcome | RejectionCode
    readonly count: number
  }): void {
    const { sourceId: source, outcome, count } = counted
    this.sources.count(source, outcome, count)
    if (acceptedOutcomes.includes(outcome)) {
      this.#counters.accepted.inc({ source, outcome }, count)
      this.recent.count('accepted', count)
    } else this.#counters.rejected.inc({ source, code: outcome }, count)
  }

  /** Calls of a source were rejected. */
  rejected(sourceId: string, calls: readonly Omit<LatestRejected, 'atMs'>[]): void {
    for (const call of calls) this.sources.reject(sourceId, call)
  }

  /** A request to the tracking API was refused as a whole. */
  refused({ code }: { readonly code: string }): void {
    this.#counters.refused.inc({ code })
  }

  request({ destinationId: destination, outcome, error }: RequestRecord): void {
    this.#counters.requests.inc({ destination, outcome })
    if (error !== null) this.#counters.failures.inc(this.#failureLabels(destination, error))
  }

  settled({ destinationId: destination, state, acceptedAtMs }: SettledDelivery): void {
    this.#counters.settled.inc({ destination, state })
    this.recent.count(state === 'delivered' ? 'delivered' : 'failed', 1)
    if (state !== 'delivered') return
    // A clock that was set back is no reason for less than nothing.
    const latencyMs = Math.max(this.#options.runtime.clock.nowMs() - acceptedAtMs, 0)
    this.#latency.observe({ destination }, latencyMs / 1_000)
    this.recent.took(latencyMs)
  }

  gaveUp({ destinationId: destination, reason, deliveries }: GivenUpDeliveries): void {
    this.#counters.settled.inc({ destination, state: givenUpStates[reason] }, deliveries)
    this.#counters.gaveUp.inc({ destination, reason }, deliveries)
    this.recent.count('failed', deliveries)
  }

  endpoint(change: EndpointChange): void {
    this.breakers.change(change)
  }

  /** A request to an endpoint began on a connection that was made for it, or was there. */
  connection(use: { readonly destinationId: string; readonly kind: 'opened' | 'reused' }): void {
    const { destinationId: destination, kind } = use
    this.#counters[kind].inc({ destination })
  }

  /** When the delivery that waits longest was due, in milliseconds since 1970; null where none is or it is not known. */
  get oldestDueAtMs(): number | null {
    const due = this.#options.figures()?.queues.flatMap((queue) => queue.oldestDueAtMs ?? [])
    return due === undefined || due.length === 0 ? null : Math.min(...due)
  }

  /** All metrics, as Prometheus reads them. Never waits for the store. */
  text(): Promise<string> {
    const { breaker } = this.#gauges
    // Nothing is awaited before the values are read, so that readers do not mix.
    this.#setStoreFigures()
    breaker.reset()
    for (const { destination, endpoint, state } of this.breakers.standings()) {
      for (const each of breakerStates) {
        breaker.set({ destination, endpoint, state: each }, each === state ? 1 : 0)
      }
    }
    return Registry.merge([this.#registry, processMetrics()]).metrics()
  }

  #failureLabels(destination: string, error: string): { destination: string; reason: string } {
    const reasons = this.#reasons.get(destination) ?? new Set()
    const reason = reasons.has(error) || reasons.size < reasonsMax ? error : 'other'
    this.#reasons.set(destination, reasons.add(reason))
    return { destination, reason }
  }

  #setStoreFigures(): void {
    const { queueDepth, queueAge, liveRows, deadRows, figuresAge } = this.#gauges
    for (const gauge of [queueDepth, queueAge, liveRows, deadRows]) gauge.reset()
    // To reset a gauge without labels is to set it to 0.
    figuresAge.remove({})
    const figures = this.#options.figures()
    if (figures === undefined) return
    const nowMs = this.#options.runtime.clock.nowMs()
    const secondsSince = (instantMs: number): number => Math.max(nowMs - instantMs, 0) / 1_000
    for (const { destinationId: destination, pending, oldestDueAtMs } of figures.queues) {
      queueDepth.set({ destination }, pending)
      queueAge.set({ destination }, secondsSince(oldestDueAtMs ?? nowMs))
    }
    for (const { table, ...rows } of figures.tables) {
      liveRows.set({ table }, rows.liveRows)
      deadRows.set({ table }, rows.deadRows)
    }
    figuresAge.set({}, secondsSince(figures.measuredAtMs))
  }
}

function countersIn(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  return {
    accepted: counter(
      'evroute_events_accepted_total',
      'Events that were accepted, by what became of them: routed, filtered, duplicate or suppressed.',
      ['source', 'outcome'],
    ),
    rejected: counter('evroute_events_rejected_total', 'Events that were rejected, by code.', [
      'source',
      'code',
    ]),
    refused: counter(
      'evroute_tracking_requests_refused_total',
      'Requests that the tracking API refused as a whole, by code.',
      ['code'],
    ),
    settled: counter(
      'evroute_deliveries_settled_total',
      'Deliveries that came to their end, by state: delivered, failed or expired.',
      ['destination', 'state'],
    ),
    gaveUp: counter(
      'evroute_deliveries_given_up_total',
      'Deliveries that ended without another attempt, by reason: window_over, abandoned or backlog_full.',
      ['destination', 'reason'],
    ),
    requests: counter(
      'evroute_webhook_requests_total',
      'Requests to endpoints, by outcome: success, retry or final.',
      ['destination', 'outcome'],
    ),
    failures: counter(
      'evroute_webhook_failures_total',
      'Requests to endpoints that failed, by reason: the status, or the code of the error.',
      ['destination', 'reason'],
    ),
    opened: counter(
      'evroute_webhook_connections_opened_total',
      'Connections to endpoints that were opened.',
      ['destination'],
    ),
    reused: counter(
      'evroute_webhook_connections_reused_total',
      'Requests to endpoints on a connection that was open already.',
      ['destination'],
    ),
  }
}

function gaugesIn(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  return {
    queueDepth: gauge('evroute_queue_deliveries', 'Deliveries that are pending.', ['destination']),
    queueAge: gauge(
      'evroute_queue_age_seconds',
      'How long the delivery that waits longest has been due; 0 when none is.',
      ['destination'],
    ),
    liveRows: gauge('evroute_store_live_rows', 'Rows of a table in PostgreSQL, by estimate.', [
      'table',
    ]),
    deadRows: gauge(
      'evroute_store_dead_rows',
      'Rows of a table in PostgreSQL that are gone and wait for autovacuum, by estimate.',
      ['table'],
    ),
    figuresAge: gauge(
      'evroute_store_figures_age_seconds',
      'How old the figures of the queues and of the store are. One process of those that share a store has them.',
      [],
    ),
    breaker: gauge(
      'evroute_endpoint_breaker_state',
      'The circuit breaker of an endpoint: 1 for the state that it is in, 0 for the others.',
      ['destination', 'endpoint', 'state'],
    ),
  }
}
