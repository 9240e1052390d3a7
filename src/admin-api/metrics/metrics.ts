import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { AddOutcome } from '../../delivery/index.ts'
import {
  givenUpStates,
  evrouteVersion,
  type EndpointChange,
  type GivenUpDeliveries,
  type RejectionCode,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'
import type { Observer, Runtime } from '../../runtime/index.ts'
import { BreakerBoard, breakerStates, type DestinationUrls } from './breaker-board.ts'
import { metricsText, processMetrics } from './metrics-text.ts'
import { RecentActivity } from './recent-activity.ts'
import { RecentLosses } from './recent-losses.ts'
import { SourceActivity, type LatestRejected } from './source-activity.ts'
import type { StoreFigures } from './store-figures.ts'

interface MetricsOptions {
  /** The latest figures of the store; undefined if another process reports them. */
  readonly figures: () => StoreFigures | undefined
  readonly runtime: Pick<Runtime, 'clock'>
}

interface CountedCalls {
  readonly sourceId: string
  readonly outcome: AddOutcome | RejectionCode
  readonly count: number
}

/** From 5 ms to 4 hours, the default retry window. */
const latencyBucketsSeconds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400,
]

/** From 5 ms to the timeout of a request. */
const requestBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5]

/** The first is 0.5 ms, because a batch of calls takes only one write to the store. */
const ingestBucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Maximum number of values of a `reason` or `status` label per destination. Further values count as `other`. */
const labelValuesMax = 32

const endedStates = ['delivered', 'failed', 'expired'] satisfies readonly SettledDelivery['state'][]

/** The outcomes of accepted calls. Every other outcome is the code of a rejection. */
const acceptedOutcomes: readonly string[] = [
  'routed',
  'filtered',
  'duplicate',
  'suppressed',
] satisfies readonly AddOutcome[]

/** The Prometheus metrics of a service. Labels are ids, codes and configured URLs, never content of events. */
export class Metrics implements Observer {
  readonly breakers: BreakerBoard = new BreakerBoard()
  readonly recent: RecentActivity
  readonly losses: RecentLosses
  readonly sources: SourceActivity
  /** Whether the latest configuration was refused. */
  isReloadRefused = false
  readonly #registry = new Registry()
  readonly #options: MetricsOptions
  readonly #counters = countersIn(this.#registry)
  readonly #gauges = gaugesIn(this.#registry)
  readonly #histograms = histogramsIn(this.#registry)
  /** Label values so far, by destination. Endpoints determine them, so {@link labelValuesMax} limits their number. */
  readonly #reasons = new Map<string, Set<string>>()
  readonly #statuses = new Map<string, Set<string>>()
  #text: Promise<string> | undefined

  constructor(options: MetricsOptions) {
    this.#options = options
    this.recent = new RecentActivity(options.runtime.clock)
    this.losses = new RecentLosses(options.runtime.clock)
    this.sources = new SourceActivity(options.runtime.clock)
    this.#gauges.build.set({ version: evrouteVersion, node: process.version }, 1)
    this.#gauges.reloadSuccess.set({}, 1)
    processMetrics()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Sets the configured destinations. Counters start at 0, because Prometheus misses the increase to a first value. */
  configured(destinations: readonly DestinationUrls[]): void {
    const added = destinations.filter(({ id }) => !this.breakers.knows(id))
    for (const removed of this.breakers.configure(destinations)) {
      for (const status of [...(this.#statuses.get(removed.destination) ?? []), 'other']) {
        this.#counters.responses.remove({ ...removed, status })
      }
      this.#histograms.request.remove({ ...removed })
    }
    for (const { id: destination } of added) {
      for (const state of endedStates) this.#counters.settled.inc({ destination, state }, 0)
      for (const reason of Object.keys(givenUpStates)) {
        this.#counters.gaveUp.inc({ destination, reason }, 0)
      }
    }
  }

  calls({ sourceId: source, outcome, count }: CountedCalls): void {
    this.sources.count(source, outcome, count)
    if (acceptedOutcomes.includes(outcome)) {
      this.#counters.accepted.inc({ source, outcome }, count)
      this.recent.count('accepted', count)
    } else this.#counters.rejected.inc({ source, code: outcome }, count)
  }

  rejected(sourceId: string, calls: readonly Omit<LatestRejected, 'atMs'>[]): void {
    for (const call of calls) this.sources.reject(sourceId, call)
  }

  refused({ sourceId, code }: { readonly sourceId: string | null; readonly code: string }): void {
    this.#counters.refused.inc({ source: sourceId ?? '', code })
  }

  /** Records how long it took to store the calls of a request. */
  stored(stored: { readonly sourceId: string; readonly durationMs: number }): void {
    this.#histograms.ingest.observe({ source: stored.sourceId }, stored.durationMs / 1_000)
  }

  reloaded(result: 'applied' | 'unchanged' | 'refused'): void {
    this.#counters.reloads.inc({ result })
    this.isReloadRefused = result === 'refused'
    this.#gauges.reloadSuccess.set({}, this.isReloadRefused ? 0 : 1)
  }

  discarded(deliveries: number): void {
    this.#counters.discarded.inc({}, deliveries)
  }

  wrongToken(): void {
    this.#counters.wrongTokens.inc({})
  }

  request({ destinationId, url, outcome, status, error, durationMs }: RequestRecord): void {
    const destination = destinationId
    this.#counters.requests.inc({ destination, outcome })
    if (error !== null) {
      const reason = bounded(this.#reasons, destination, error)
      this.#counters.failures.inc({ destination, reason })
    }
    const endpoint = this.breakers.nameOf(destination, url)
    if (status === null || endpoint === undefined) return
    const boundedStatus = bounded(this.#statuses, destination, String(status))
    this.#counters.responses.inc({ destination, endpoint, status: boundedStatus })
    this.#histograms.request.observe({ destination, endpoint }, durationMs / 1_000)
  }

  settled({ destinationId: destination, state, acceptedAtMs, reason }: SettledDelivery): void {
    this.#counters.settled.inc({ destination, state })
    this.recent.count(state === 'delivered' ? 'delivered' : 'failed', 1)
    if (state !== 'delivered') {
      this.losses.count(destination, reason ?? '', 1)
      return
    }
    // Never negative, even if the clock was set back.
    const latencyMs = Math.max(this.#options.runtime.clock.nowMs() - acceptedAtMs, 0)
    this.#histograms.delivery.observe({ destination }, latencyMs / 1_000)
    this.recent.addLatency(latencyMs)
  }

  gaveUp({ destinationId: destination, reason, deliveries }: GivenUpDeliveries): void {
    this.#counters.settled.inc({ destination, state: givenUpStates[reason] }, deliveries)
    this.#counters.gaveUp.inc({ destination, reason }, deliveries)
    this.recent.count('failed', deliveries)
    this.losses.count(destination, reason, deliveries)
  }

  endpoint(change: EndpointChange): void {
    this.breakers.change(change)
  }

  connection(use: { readonly destinationId: string; readonly kind: 'opened' | 'reused' }): void {
    const { destinationId: destination, kind } = use
    this.#counters[kind].inc({ destination })
  }

  /**
   * The earliest due time of pending deliveries that are not in flight, in milliseconds since 1970. Null if there are
   * none, or if a different process measures the store.
   */
  get oldestDueAtMs(): number | null {
    const due = this.#options.figures()?.queues.flatMap((queue) => queue.oldestDueAtMs ?? [])
    return due === undefined || due.length === 0 ? null : Math.min(...due)
  }

  /** All metrics in the Prometheus text format. Never waits for the store. Concurrent calls get the same text. */
  text(): Promise<string> {
    // Share the text among concurrent calls: composing it sets the gauges, so two compositions would mix their values.
    this.#text ??= this.#compose().finally(() => (this.#text = undefined))
    return this.#text
  }

  async #compose(): Promise<string> {
    const { breaker } = this.#gauges
    this.#setStoreFigures()
    breaker.reset()
    for (const { destination, endpoint, state } of this.breakers.statuses()) {
      for (const each of breakerStates) {
        breaker.set({ destination, endpoint, state: each }, each === state ? 1 : 0)
      }
    }
    return metricsText(Registry.merge([this.#registry, processMetrics()]))
  }

  #setStoreFigures(): void {
    const { queueDepth, queueAge, parked, liveRows, deadRows, figuresAge } = this.#gauges
    for (const gauge of [queueDepth, queueAge, parked, liveRows, deadRows]) gauge.reset()
    // reset() would set this gauge to 0, because it has no labels.
    figuresAge.remove({})
    const figures = this.#options.figures()
    if (figures === undefined) return
    const nowMs = this.#options.runtime.clock.nowMs()
    const secondsSince = (instantMs: number): number => Math.max(nowMs - instantMs, 0) / 1_000
    for (const { destinationId: destination, pending, oldestDueAtMs } of figures.queues) {
      queueDepth.set({ destination }, pending)
      parked.set({ destination }, this.breakers.areAllOpen(destination) ? pending : 0)
      queueAge.set({ destination }, secondsSince(oldestDueAtMs ?? nowMs))
    }
    for (const { table, ...rows } of figures.tables) {
      liveRows.set({ table }, rows.liveRows)
      deadRows.set({ table }, rows.deadRows)
    }
    figuresAge.set({}, secondsSince(figures.measuredAtMs))
  }
}

function bounded(known: Map<string, Set<string>>, destination: string, value: string): string {
  let values = known.get(destination)
  if (values === undefined) {
    values = new Set()
    known.set(destination, values)
  }
  if (values.has(value)) return value
  if (values.size >= labelValuesMax) return 'other'
  values.add(value)
  return value
}

function histogramsIn(registry: Registry) {
  const histogram = <Label extends string>(
    name: string,
    help: string,
    shape: { readonly labelNames: Label[]; readonly buckets: number[] },
  ) => new Histogram({ name, help, ...shape, registers: [registry] })
  return {
    delivery: histogram(
      'evroute_delivery_latency_seconds',
      'Time from when an event is accepted until a 2xx answer of its endpoint is recorded.',
      { labelNames: ['destination'], buckets: latencyBucketsSeconds },
    ),
    request: histogram(
      'evroute_webhook_latency_seconds',
      'Time from the start of a request to an endpoint until its answer.',
      { labelNames: ['destination', 'endpoint'], buckets: requestBucketsSeconds },
    ),
    ingest: histogram(
      'evroute_ingest_latency_seconds',
      'Time from the last byte of a request from a source until its calls are stored.',
      { labelNames: ['source'], buckets: ingestBucketsSeconds },
    ),
  }
}

function countersIn(registry: Registry) {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  return {
    accepted: counter(
      'evroute_events_accepted_total',
      'Events that were accepted, by outcome: routed, filtered, duplicate or suppressed.',
      ['source', 'outcome'],
    ),
    rejected: counter('evroute_events_rejected_total', 'Events that were rejected, by code.', [
      'source',
      'code',
    ]),
    refused: counter(
      'evroute_tracking_requests_refused_total',
      'Requests that the tracking API refused as a whole, by code. The source is empty if it is not known.',
      ['source', 'code'],
    ),
    settled: counter(
      'evroute_deliveries_settled_total',
      'Deliveries that have ended, by state: delivered, failed or expired.',
      ['destination', 'state'],
    ),
    gaveUp: counter(
      'evroute_deliveries_given_up_total',
      'Deliveries that ended without another attempt, by reason: window_over, abandoned or backlog_full.',
      ['destination', 'reason'],
    ),
    discarded: counter(
      'evroute_deliveries_discarded_total',
      'Pending deliveries that were discarded through the admin API or the page.',
      [],
    ),
    wrongTokens: counter(
      'evroute_admin_wrong_tokens_total',
      'Wrong tokens and used or expired links that the admin API and the page refused.',
      [],
    ),
    reloads: counter(
      'evroute_configuration_reloads_total',
      'Reloads of the configuration, by result: applied, unchanged or refused.',
      ['result'],
    ),
    responses: counter('evroute_webhook_responses_total', 'Answers of endpoints, by status.', [
      'destination',
      'endpoint',
      'status',
    ]),
    requests: counter(
      'evroute_webhook_requests_total',
      'Requests to endpoints, by outcome: success, retry (failed, will be retried) or final (failed, will not be retried).',
      ['destination', 'outcome'],
    ),
    failures: counter(
      'evroute_webhook_failures_total',
      'Failed requests to endpoints, by reason: the status, or the code of the error.',
      ['destination', 'reason'],
    ),
    opened: counter(
      'evroute_webhook_connections_opened_total',
      'Connections opened to endpoints.',
      ['destination'],
    ),
    reused: counter(
      'evroute_webhook_connections_reused_total',
      'Requests to endpoints on a connection that was already open.',
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
      'How long the oldest due delivery has been due; 0 if none is due.',
      ['destination'],
    ),
    parked: gauge(
      'evroute_queue_parked_deliveries',
      'Pending deliveries that wait because the circuit breakers of all their endpoints are open.',
      ['destination'],
    ),
    reloadSuccess: gauge(
      'evroute_configuration_reload_successful',
      'Whether the last reload of the configuration succeeded: 1, or 0 if the configuration was refused.',
      [],
    ),
    build: gauge(
      'evroute_build_info',
      'Always 1. The labels give the versions of evroute and Node.js.',
      ['version', 'node'],
    ),
    liveRows: gauge(
      'evroute_store_live_rows',
      'Estimated number of live rows in a PostgreSQL table.',
      ['table'],
    ),
    deadRows: gauge(
      'evroute_store_dead_rows',
      'Estimated number of dead rows in a PostgreSQL table, which wait for autovacuum.',
      ['table'],
    ),
    figuresAge: gauge(
      'evroute_store_figures_age_seconds',
      'Age of the figures about queues and the store. Only one of the processes that share a store reports them.',
      [],
    ),
    breaker: gauge(
      'evroute_endpoint_breaker_state',
      'The circuit breaker of an endpoint: 1 for its current state, 0 for the others.',
      ['destination', 'endpoint', 'state'],
    ),
  }
}
