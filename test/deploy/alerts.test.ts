import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { sendRequest, startAdmin } from '../admin-api/support.ts'
import { nowMs } from '../cli/deliveries/stores.ts'
import { fixture } from '../support/fixtures.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const read = (name: string): Promise<string> => readFile(fixture(`deploy/${name}`), 'utf8')
const { groups } = parse(await read('alerts.yaml')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(await read('dashboard.json')) as { readonly panels: readonly Panel[] }
const queries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map((target) => ({ title, ...target })),
)
const expressions: readonly (readonly [name: string, expression: string])[] = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...queries.map(({ title, expr, legendFormat }) => [`${title}: ${legendFormat}`, expr] as const),
]

/** Labels that Prometheus adds to every series of a target, and the metrics that it adds itself. */
const targetLabels = ['job', 'instance']
const targetMetrics = ['up']
const functions = ['sum', 'min', 'max', 'rate', 'increase', 'histogram_quantile']
const operators = ['unless']

/** The metrics of an expression, its matchers, and the labels that it groups by. */
function partsOf(expression: string) {
  const outside = expression.replace(/"[^"]*"/g, '""').replace(/\[[^\]]*\]/g, '')
  const called = [...outside.matchAll(/([a-z_]+)\s*\(/g)].map(([, name = '']) => name)
  const grouped = [...outside.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  )
  const bare = outside.replace(/\bby \([^)]*\)/g, '').replace(/\{[^}]*\}/g, '')
  const metrics = [...bare.matchAll(/[a-z_][a-z_\d]*(?!\w*\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => ![...functions, ...operators].includes(name))
  const matchers = [...expression.matchAll(/([a-z_\d]+)\{([^}]*)\}/g)].flatMap(
    ([, metric = '', inside = '']) =>
      [...inside.matchAll(/([a-z_]+)(=~?)"([^"]*)"/g)].flatMap(([, label = '', , values = '']) =>
        values.split('|').map((value) => ({ metric, label, value })),
      ),
  )
  return { called: called.filter((name) => name !== 'by'), grouped, metrics, matchers }
}

/** The labels of each series, by metric. */
type Series = ReadonlyMap<string, readonly ReadonlyMap<string, string>[]>

function seriesIn(text: string): Series {
  const series = new Map<string, ReadonlyMap<string, string>[]>()
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(
      ([, label = '', value = '']) => [label, value] as const,
    )
    series.set(name, [...(series.get(name) ?? []), new Map(pairs)])
  }
  return series
}

/** The metrics of a service to which everything has happened once. */
async function everySeries(): Promise<Series> {
  const { url, metrics } = await startAdmin()
  const endpoint = { destinationId: 'crm', url: 'https://example.com/hook' }
  metrics.configured([{ id: 'crm', endpoints: [endpoint] }])
  metrics.endpoint({ ...endpoint, state: 'open', probeAtMs: nowMs, error: 'timeout' })
  for (const outcome of ['routed', 'no_event'] as const) {
    metrics.calls({ sourceId: 'website', outcome, count: 1 })
  }
  metrics.stored({ sourceId: 'website', durationMs: 1 })
  for (const code of ['store_unavailable', 'rate_limited', 'source_disabled']) {
    metrics.refused({ sourceId: 'website', code })
  }
  metrics.refused({ sourceId: null, code: 'unknown_write_key' })
  metrics.reloaded('refused')
  const message = { messageId: 'm_1', attempts: 1 }
  const settled = { ...message, destinationId: 'crm', acceptedAtMs: nowMs, reason: null }
  for (const state of ['delivered', 'failed', 'expired'] as const) {
    metrics.settled({ ...settled, type: 'track', state })
  }
  metrics.gaveUp({ destinationId: 'crm', reason: 'backlog_full', deliveries: 1 })
  const request = { ...endpoint, ...message, deliveryId: 1, lane: 'first', attempt: 1 } as const
  const answered = { atMs: nowMs, status: 503, error: 'status_503', durationMs: 1, excerpt: '' }
  metrics.request({ ...request, ...answered, outcome: 'retry' })
  return seriesIn((await sendRequest(`${url}/metrics`)).text)
}

describe('the expressions of the alerts and of the dashboard', () => {
  test.each(expressions)(
    'for %s use only metrics and labels that a service reports',
    async (_, expression) => {
      const series = await everySeries()
      const { called, grouped, metrics, matchers } = partsOf(expression)
      expect(functions).toEqual(expect.arrayContaining(called))
      expect(metrics.length).toBeGreaterThan(0)
      for (const metric of metrics.filter((name) => !targetMetrics.includes(name))) {
        expect([...series.keys()]).toContain(metric)
        const labels = (series.get(metric) ?? []).flatMap((each) => [...each.keys()])
        expect([...labels, ...targetLabels]).toEqual(expect.arrayContaining(grouped))
      }
      for (const { metric, label, value } of matchers) {
        if (targetLabels.includes(label)) continue
        expect((series.get(metric) ?? []).map((each) => each.get(label))).toContain(value)
      }
    },
  )

  test('have balanced brackets', () => {
    for (const [, expression] of expressions) {
      for (const [open, close] of ['()', '{}', '[]'].map((pair) => pair.split(''))) {
        expect(expression.split(open ?? '').length).toBe(expression.split(close ?? '').length)
      }
    }
  })
})

describe('the alerts', () => {
  test('about an old queue leave out deliveries that wait for an endpoint that is down', () => {
    const { expr } = rules.find(({ alert }) => alert === 'EvrouteQueueOld')!
    expect(partsOf(expr).metrics).toContain('evroute_queue_parked_deliveries')
  })

  test.each(rules)(
    '$alert has a severity, a summary and a section of the runbook',
    async (rule) => {
      expect(['warning', 'critical']).toContain(rule.labels.severity)
      const { grouped } = partsOf(rule.expr)
      const named = [...rule.annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(
        ([, name]) => name,
      )
      expect([...grouped, 'instance']).toEqual(expect.arrayContaining(named))
      const runbook = await readFile(new URL('../../docs/runbook.md', import.meta.url), 'utf8')
      expect(rule.annotations.runbook).toBe(`runbook.md#${rule.alert.toLowerCase()}`)
      expect(runbook).toContain(`\n## ${rule.alert}\n`)
    },
  )

  test('are in the runbook in the same order', async () => {
    const runbook = await readFile(new URL('../../docs/runbook.md', import.meta.url), 'utf8')
    const headings = [...runbook.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(rules.map(({ alert }) => alert))
  })
})
