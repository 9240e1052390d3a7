import { createHook } from 'node:async_hooks'
import { evrouteVersion, hiddenEndpoint } from '../../src/model/index.ts'
import { describe, expect, test } from 'vitest'
import { Metrics, queueStates, type StoreFigures } from '../../src/admin-api/index.ts'
import type { EndpointChange, RequestRecord, SettledDelivery } from '../../src/model/index.ts'
import { ManualClock } from '../../src/runtime/index.ts'
import { MemoryStore } from '../support/memory-store.ts'
import { addSamples, delivered, nowMs, retried } from '../cli/deliveries/stores.ts'
import { recordingRuntime } from '../support/recording-runtime.ts'
import { sendRequest, startAdmin } from './support.ts'

function createMetrics(figures: () => StoreFigures | undefined = () => undefined) {
  const { runtime } = recordingRuntime(new ManualClock(nowMs))
  return { metrics: new Metrics({ figures, runtime }) }
}

/** Lines of the metrics whose names begin with the prefix, without comments. */
async function linesOf(metrics: Metrics, prefix: string): Promise<readonly string[]> {
  const lines = (await metrics.text()).split('\n')
  return lines.filter((line) => line.startsWith(prefix))
}

const settled: SettledDelivery = {
  messageId: 'm_1',
  type: 'track',
  destinationId: 'crm',
  state: 'delivered',
  attempts: 1,
  acceptedAtMs: nowMs - 80,
  reason: null,
}

const request: RequestRecord = {
  destinationId: 'crm',
  deliveryId: 1,
  messageId: 'm_1',
  url: 'https://example.com/hook',
  lane: 'first',
  attempt: 1,
  atMs: nowMs,
  outcome: 'success',
  status: 200,
  error: null,
  durationMs: 12,
  excerpt: '',
}

const change = (url: string, state: EndpointChange['state']): EndpointChange => ({
  destinationId: 'crm',
  url,
  state,
  probeAtMs: null,
  error: null,
})

describe('the metrics', () => {
  test('count lost deliveries of each destination from 0, so that the first one is an increase', async () => {
    const { metrics } = createMetrics()
    const configured = [{ id: 'crm', endpoints: [] }]
    metrics.configured(configured)
    metrics.settled({ ...settled, state: 'failed' })
    metrics.configured(configured)
    const of = (labels: string, count: number): string =>
      `evroute_deliveries_${labels.replace('{', '_total{destination="crm",')}} ${count}`
    expect(await linesOf(metrics, 'evroute_deliveries_settled_total')).toEqual([
      of('settled{state="delivered"', 0),
      of('settled{state="failed"', 1),
      of('settled{state="expired"', 0),
    ])
    expect(await linesOf(metrics, 'evroute_deliveries_given_up_total')).toEqual([
      of('given_up{reason="window_over"', 0),
      of('given_up{reason="abandoned"', 0),
      of('given_up{reason="backlog_full"', 0),
    ])
  })

  test('report the process once, however many services it runs', async () => {
    const measuring: string[] = []
    const first = createMetrics()
    const hook = createHook({ init: (_, type) => measuring.push(type) }).enable()
    const second = createMetrics()
    hook.disable()
    expect(measuring).not.toContain('ELDHISTOGRAM')
    for (const { metrics } of [first, second]) {
      expect(await linesOf(metrics, 'process_cpu_seconds_total')).toHaveLength(1)
    }
  })

  test('count events by source and outcome, and rejections by code', async () => {
    const { metrics } = createMetrics()
    metrics.calls({ sourceId: 'website', outcome: 'routed', count: 2 })
    metrics.calls({ sourceId: 'website', outcome: 'routed', count: 1 })
    metrics.calls({ sourceId: 'website', outcome: 'filtered', count: 4 })
    metrics.calls({ sourceId: 'app', outcome: 'duplicate', count: 1 })
    metrics.calls({ sourceId: 'app', outcome: 'suppressed', count: 1 })
    metrics.calls({ sourceId: 'app', outcome: 'no_event', count: 5 })
    metrics.refused({ sourceId: 'website', code: 'rate_limited' })
    metrics.refused({ sourceId: null, code: 'unknown_write_key' })
    expect(await linesOf(metrics, 'evroute_events_')).toEqual([
      'evroute_events_accepted_total{source="website",outcome="routed"} 3',
      'evroute_events_accepted_total{source="website",outcome="filtered"} 4',
      'evroute_events_accepted_total{source="app",outcome="duplicate"} 1',
      'evroute_events_accepted_total{source="app",outcome="suppressed"} 1',
      'evroute_events_rejected_total{source="app",code="no_event"} 5',
    ])
    expect(await linesOf(metrics, 'evroute_tracking_')).toEqual([
      'evroute_tracking_requests_refused_total{source="website",code="rate_limited"} 1',
      'evroute_tracking_requests_refused_total{source="",code="unknown_write_key"} 1',
    ])
  })

  test('count requests, deliveries and connections by destination', async () => {
    const { metrics } = createMetrics()
    metrics.request(request)
    metrics.request({ ...request, outcome: 'retry' })
    metrics.request({ ...request, outcome: 'retry' })
    metrics.settled(settled)
    metrics.settled({ ...settled, destinationId: 'mail', state: 'expired' })
    metrics.connection({ destinationId: 'crm', kind: 'opened' })
    metrics.connection({ destinationId: 'crm', kind: 'reused' })
    metrics.connection({ destinationId: 'crm', kind: 'reused' })
    expect(await linesOf(metrics, 'evroute_webhook_')).toEqual([
      'evroute_webhook_requests_total{destination="crm",outcome="success"} 1',
      'evroute_webhook_requests_total{destination="crm",outcome="retry"} 2',
      'evroute_webhook_connections_opened_total{destination="crm"} 1',
      'evroute_webhook_connections_reused_total{destination="crm"} 2',
    ])
    expect(await linesOf(metrics, 'evroute_deliveries_')).toEqual([
      'evroute_deliveries_settled_total{destination="crm",state="delivered"} 1',
      'evroute_deliveries_settled_total{destination="mail",state="expired"} 1',
      'evroute_deliveries_discarded_total 0',
    ])
  })

  test('count failed requests by destination and reason, with a bounded number of reasons', async () => {
    const { metrics } = createMetrics()
    metrics.request(request)
    metrics.request({ ...request, outcome: 'retry', error: 'timeout' })
    metrics.request({ ...request, outcome: 'final', error: 'CERT_HAS_EXPIRED' })
    metrics.request({ ...request, outcome: 'final', error: 'CERT_HAS_EXPIRED' })
    for (let status = 400; status < 450; status++) {
      const outcome = { outcome: 'final', error: `status_${status}` } as const
      metrics.request({ ...request, ...outcome, destinationId: 'mail' })
    }
    const lines = await linesOf(metrics, 'evroute_webhook_failures_total')
    expect(lines.slice(0, 2)).toEqual([
      'evroute_webhook_failures_total{destination="crm",reason="timeout"} 1',
      'evroute_webhook_failures_total{destination="crm",reason="CERT_HAS_EXPIRED"} 2',
    ])
    expect(lines).toHaveLength(2 + 33)
    expect(lines.at(-1)).toBe(
      'evroute_webhook_failures_total{destination="mail",reason="other"} 18',
    )
  })

  test('measure the time from acceptance to the answer for delivered webhooks only', async () => {
    const { metrics } = createMetrics()
    metrics.settled(settled)
    metrics.settled({ ...settled, acceptedAtMs: nowMs - 20_000 })
    metrics.settled({ ...settled, acceptedAtMs: nowMs + 5_000 })
    metrics.settled({ ...settled, state: 'failed' })
    metrics.settled({ ...settled, state: 'expired' })
    const lines = await linesOf(metrics, 'evroute_delivery_latency_seconds')
    expect(lines).toContain('evroute_delivery_latency_seconds_count{destination="crm"} 3')
    expect(lines).toContain('evroute_delivery_latency_seconds_sum{destination="crm"} 20.08')
    const bucket = (le: string, count: number) =>
      `evroute_delivery_latency_seconds_bucket{le="${le}",destination="crm"} ${count}`
    expect(lines).toContain(bucket('0.005', 1))
    expect(lines).toContain(bucket('0.1', 2))
    expect(lines).toContain(bucket('10', 2))
    expect(lines).toContain(bucket('30', 3))
    expect(lines).toContain(bucket('14400', 3))
  })

  test('count and time answers by status and configured endpoint', async () => {
    const { metrics } = createMetrics()
    metrics.configured([{ id: 'crm', endpoints: [{ url: request.url }] }])
    metrics.request(request)
    metrics.request({ ...request, status: 503, error: 'status_503', durationMs: 900 })
    metrics.request({ ...request, status: null, error: 'timeout' })
    metrics.request({ ...request, url: 'https://example.com/removed' })
    const endpoint = `destination="crm",endpoint="${hiddenEndpoint(request.url)}"`
    expect(await linesOf(metrics, 'evroute_webhook_responses_total')).toEqual([
      `evroute_webhook_responses_total{${endpoint},status="200"} 1`,
      `evroute_webhook_responses_total{${endpoint},status="503"} 1`,
    ])
    const latency = await linesOf(metrics, 'evroute_webhook_latency_seconds')
    expect(latency).toContain(`evroute_webhook_latency_seconds_count{${endpoint}} 2`)
    expect(latency).toContain(`evroute_webhook_latency_seconds_bucket{le="0.025",${endpoint}} 1`)
  })

  test('distinguish a bounded number of statuses per destination', async () => {
    const { metrics } = createMetrics()
    metrics.configured([{ id: 'crm', endpoints: [{ url: request.url }] }])
    for (let status = 200; status < 300; status++) metrics.request({ ...request, status })
    const lines = await linesOf(metrics, 'evroute_webhook_responses_total')
    expect(lines).toHaveLength(33)
    expect(lines.at(-1)).toMatch(/status="other"} 68$/)
  })

  test('of an endpoint end once a reload removes it', async () => {
    const { metrics } = createMetrics()
    const kept = { url: 'https://example.com/kept' }
    metrics.configured([{ id: 'crm', endpoints: [{ url: request.url }, kept] }])
    for (let status = 400; status < 450; status++) metrics.request({ ...request, status })
    metrics.request({ ...request, ...kept })
    metrics.configured([{ id: 'crm', endpoints: [kept] }])
    metrics.request(request)
    expect(await linesOf(metrics, 'evroute_webhook_responses_total')).toHaveLength(1)
    expect(await linesOf(metrics, 'evroute_webhook_latency_seconds_count')).toHaveLength(1)
    expect(await linesOf(metrics, 'evroute_webhook_requests_total')).toEqual([
      'evroute_webhook_requests_total{destination="crm",outcome="success"} 52',
    ])
  })

  test('measure how long a source waits until its calls are stored', async () => {
    const { metrics } = createMetrics()
    metrics.stored({ sourceId: 'website', durationMs: 4 })
    const lines = await linesOf(metrics, 'evroute_ingest_latency_seconds')
    expect(lines).toContain('evroute_ingest_latency_seconds_bucket{le="0.0025",source="website"} 0')
    expect(lines).toContain('evroute_ingest_latency_seconds_bucket{le="0.005",source="website"} 1')
  })

  test('report the version, and whether the last configuration was applied', async () => {
    const { metrics } = createMetrics()
    expect(await linesOf(metrics, 'evroute_build_info')).toEqual([
      `evroute_build_info{version="${evrouteVersion}",node="${process.version}"} 1`,
    ])
    const reloads = () => linesOf(metrics, 'evroute_configuration_')
    expect(await reloads()).toEqual(['evroute_configuration_reload_successful 1'])
    metrics.reloaded('refused')
    expect(await reloads()).toEqual([
      'evroute_configuration_reloads_total{result="refused"} 1',
      'evroute_configuration_reload_successful 0',
    ])
    metrics.reloaded('applied')
    expect(await reloads()).toContain('evroute_configuration_reload_successful 1')
  })

  test('count every waiting delivery as parked while all endpoints are down', async () => {
    const queues = [{ destinationId: 'crm', pending: 7, oldestDueAtMs: null }]
    const { metrics } = createMetrics(() => ({ queues, tables: [], measuredAtMs: nowMs }))
    const [a, b] = [{ url: 'https://example.com/a' }, { url: 'https://example.com/b' }]
    const parked = () => linesOf(metrics, 'evroute_queue_parked_deliveries')
    metrics.configured([{ id: 'crm', endpoints: [a, b] }])
    metrics.endpoint(change(a.url, 'open'))
    expect(await parked()).toEqual(['evroute_queue_parked_deliveries{destination="crm"} 0'])
    metrics.endpoint(change(b.url, 'open'))
    expect(await parked()).toEqual(['evroute_queue_parked_deliveries{destination="crm"} 7'])
  })

  test('report the depth and age of queues from the last measurement, and its time', async () => {
    let figures: StoreFigures | undefined = {
      queues: [
        { destinationId: 'crm', pending: 7, oldestDueAtMs: nowMs - 90_500 },
        { destinationId: 'mail', pending: 1, oldestDueAtMs: nowMs + 10_000 },
        { destinationId: 'none', pending: 0, oldestDueAtMs: null },
      ],
      tables: [{ table: 'evroute_deliveries', liveRows: 20, deadRows: 5 }],
      measuredAtMs: nowMs - 3_000,
    }
    const { metrics } = createMetrics(() => figures)
    expect(await linesOf(metrics, 'evroute_queue_')).toEqual([
      'evroute_queue_deliveries{destination="crm"} 7',
      'evroute_queue_deliveries{destination="mail"} 1',
      'evroute_queue_deliveries{destination="none"} 0',
      'evroute_queue_age_seconds{destination="crm"} 90.5',
      'evroute_queue_age_seconds{destination="mail"} 0',
      'evroute_queue_age_seconds{destination="none"} 0',
      'evroute_queue_parked_deliveries{destination="crm"} 0',
      'evroute_queue_parked_deliveries{destination="mail"} 0',
      'evroute_queue_parked_deliveries{destination="none"} 0',
    ])
    expect(await linesOf(metrics, 'evroute_store_')).toEqual([
      'evroute_store_live_rows{table="evroute_deliveries"} 20',
      'evroute_store_dead_rows{table="evroute_deliveries"} 5',
      'evroute_store_figures_age_seconds 3',
    ])
    // From now on a different process reports the figures of the store.
    figures = undefined
    expect(await linesOf(metrics, 'evroute_queue_')).toEqual([])
    expect(await linesOf(metrics, 'evroute_store_')).toEqual([])
  })

  test('each have their own name, type and description', async () => {
    const { metrics } = createMetrics()
    createMetrics().metrics.request(request)
    const text = await metrics.text()
    expect(text).not.toContain('evroute_webhook_requests_total{')
    const names = [...text.matchAll(/^# TYPE (evroute_\w+) (\w+)$/gm)]
    expect(names.length).toBeGreaterThan(10)
    for (const [, name = '', type = ''] of names) {
      expect(text).toMatch(new RegExp(`^# HELP ${name} [A-Z].*\\.$`, 'm'))
      expect(name.endsWith('_total')).toBe(type === 'counter')
    }
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m)
  })
})

describe('the breakers in the metrics', () => {
  const a = { url: 'https://example.com/a?key=not-a-real-secret' }
  const b = { url: 'https://example.com/b' }
  const shownA = hiddenEndpoint(a.url)
  const shownB = hiddenEndpoint(b.url)

  async function statesOf(metrics: Metrics): Promise<readonly string[]> {
    const lines = await linesOf(metrics, 'evroute_endpoint_breaker_state')
    return lines
      .filter((line) => line.endsWith(' 1'))
      .map((line) => /endpoint="(.*)",state="(.*)"/.exec(line)?.slice(1).join(' ') ?? line)
  }

  test('are closed at first, and follow state changes', async () => {
    const { metrics } = createMetrics()
    metrics.configured([{ id: 'crm', endpoints: [a, b] }])
    expect(await statesOf(metrics)).toEqual([`${shownA} closed`, `${shownB} closed`])
    metrics.endpoint(change(a.url, 'open'))
    expect(await linesOf(metrics, 'evroute_endpoint_breaker_state')).toEqual([
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownA}",state="open"} 1`,
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownA}",state="recovering"} 0`,
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownA}",state="closed"} 0`,
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownB}",state="open"} 0`,
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownB}",state="recovering"} 0`,
      `evroute_endpoint_breaker_state{destination="crm",endpoint="${shownB}",state="closed"} 1`,
    ])
    metrics.endpoint(change(a.url, 'recovering'))
    expect(await statesOf(metrics)).toContain(`${shownA} recovering`)
    metrics.endpoint(change(a.url, 'closed'))
    expect(await statesOf(metrics)).toContain(`${shownA} closed`)
  })

  test('match the configured endpoints after every reload', async () => {
    const { metrics } = createMetrics()
    metrics.endpoint(change(a.url, 'open'))
    metrics.configured([{ id: 'crm', endpoints: [a] }])
    expect(await statesOf(metrics)).toEqual([`${shownA} closed`])
    metrics.endpoint(change(a.url, 'open'))
    metrics.endpoint(change(b.url, 'open'))
    metrics.endpoint({ ...change(a.url, 'open'), destinationId: 'mail' })
    metrics.configured([{ id: 'crm', endpoints: [b, a] }])
    expect(await statesOf(metrics)).toEqual([`${shownB} closed`, `${shownA} open`])
    metrics.configured([{ id: 'crm', endpoints: [b] }])
    expect(await statesOf(metrics)).toEqual([`${shownB} closed`])
    metrics.configured([])
    expect(await statesOf(metrics)).toEqual([])
  })

  test('distinguish endpoints that differ only in their query', async () => {
    const { metrics } = createMetrics()
    const other = { url: 'https://example.com/a?key=not-a-real-key' }
    metrics.configured([{ id: 'crm', endpoints: [a, other, b] }])
    metrics.endpoint(change(a.url, 'recovering'))
    metrics.endpoint(change(other.url, 'open'))
    expect(await statesOf(metrics)).toEqual([
      `${shownA} recovering`,
      `${hiddenEndpoint(other.url)} open`,
      `${shownB} closed`,
    ])
    expect(await metrics.text()).not.toMatch(/secret|not-a-real-key/)
  })
})

describe('queueStates', () => {
  test('reads the pending count and the earliest due time', async () => {
    const store = new MemoryStore()
    const mail = { destinationIds: ['mail'] }
    await addSamples(store, [
      { ageMs: 5_000 },
      { ageMs: 9_000 },
      { ...delivered, ageMs: 60_000 },
      { ...retried, ...mail },
      { ageMs: 7_000, ...mail },
    ])
    expect(await queueStates(store, ['crm', 'mail', 'none'], nowMs)).toEqual([
      { destinationId: 'crm', pending: 2, oldestDueAtMs: nowMs - 9_000 },
      { destinationId: 'mail', pending: 2, oldestDueAtMs: nowMs - 7_000 },
      { destinationId: 'none', pending: 0, oldestDueAtMs: null },
    ])
  })
})

describe('GET /metrics', () => {
  test('counts discarded deliveries', async () => {
    const { url } = await startAdmin({ samples: [{ ageMs: 30_000 }, { ageMs: 20_000 }] })
    await sendRequest(`${url}/v1/deliveries/discard`, { method: 'POST', body: { all: true } })
    const { text } = await sendRequest(`${url}/metrics`)
    expect(text).toContain('\nevroute_deliveries_discarded_total 2\n')
  })

  test('reports figures in the text format of Prometheus', async () => {
    const { url } = await startAdmin({ samples: [{ ageMs: 30_000 }] })
    const { status, headers, text } = await sendRequest(`${url}/metrics`)
    expect({ status, type: headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
    })
    expect(text).toContain('\nevroute_queue_deliveries{destination="crm"} 1\n')
    expect(text).toContain('\nevroute_queue_age_seconds{destination="crm"} 30\n')
  })
})
