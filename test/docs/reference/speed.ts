import { readFileSync } from 'node:fs'
import { table } from './markdown.ts'

/** A ratio of rates; `min` and `max` over the rounds, where they are known. */
interface Ratio {
  readonly median: number
  readonly min?: number
  readonly max?: number
}

/** A case of a bench, as `npm run bench -- --record` writes it. */
interface MeasuredCase {
  readonly bench: string
  readonly measuredOn: string
  readonly case?: string
  readonly rate: number
  readonly beside: Readonly<Record<string, Ratio>>
  readonly figures?: Readonly<Record<string, number>>
}

interface Measured {
  readonly machine: string
  readonly cases: readonly MeasuredCase[]
}

/** A row of the table: the bench, its case where it has several, and what it measures. */
type SpeedRow = readonly [bench: string, name: string | undefined, label: string]

const rows: readonly SpeedRow[] = [
  ['delivery', undefined, 'signed webhooks from accepted to settled, SQLite with synchronous=FULL'],
  ['delivery', '10 destinations', 'the same, each event goes to 10 destinations'],
  ['replay-delivered', 'memory:', 'rows of a file from `replay` to settled, in memory'],
  ['replay-delivered', 'sqlite:', 'the same, in a file'],
  ['client', 'flushAt 20', 'calls from the first `track()` to the last answer, 20 in a batch'],
  ['client', 'flushAt 20, batchMax 250', 'the same, waiting batches join up to 250'],
  ['client', 'flushAt 250', 'the same, 250 in a batch'],
  ['client-overhead', 'flushAt 20', 'requests of an express server that tracks a call in each'],
  ['client-overhead', 'flushAt 20, batchMax 250', 'the same, waiting batches join up to 250'],
  ['ingest', '/v1/batch, one destination', 'events through `/v1/batch`, answered once on disk'],
  ['ingest', '/v1/track, one destination', 'requests through `/v1/track`, answered once on disk'],
  ['receiver', undefined, 'signed webhooks that a `Receiver` takes'],
  ['isolation', undefined, 'webhooks of 40 destinations while 10 others hang'],
  ['growth', 'stored: 1,000,000', 'webhooks with 1,000,000 deliveries in the store, beside 1,000'],
  ['growth', 'destinations: 100', 'webhooks to 100 destinations, beside one'],
  ['growth', 'destinations: 1,000', 'webhooks to 1,000 destinations, beside one'],
  ['replay', 'parsing, plain', 'rows parsed, NDJSON'],
  ['replay', 'parsing, gz', 'the same, gzip'],
  ['start', '--version', '`evroute --version`, beside `node -e 0`'],
  ['start', 'send --dry-run', '`send --dry-run`, beside the same'],
  ['start', 'first webhook', '`send` until its first webhook arrives, beside the same'],
]

/** The rows that the README shows. */
const shownFirst = [
  'delivery',
  'client flushAt 20',
  'ingest /v1/batch, one destination',
  'receiver',
  'start --version',
]

const end = '<!-- end of figures -->'

/** Puts the measured figures into their sections of a page. */
export function withFigures(page: string, isReadme: boolean): string {
  const measured = readMeasured()
  const withBenches = withSection(
    page,
    'figures of docs/speed.json',
    benchTable(measured, isReadme),
  )
  if (isReadme) return withBenches
  const withThreads = withSection(
    withBenches,
    'sender threads of docs/speed.json',
    senderThreadsTable(measured),
  )
  return withSection(withThreads, 'day of docs/speed.json', dayTable(measured))
}

function withSection(page: string, name: string, text: string): string {
  const begin = `<!-- ${name} -->`
  const [before, rest] = page.split(begin)
  const [, ...after] = (rest ?? '').split(end)
  if (before === undefined || after.length === 0) throw new Error(`The page has no ${name}`)
  return [before + begin, text, end + after.join(end)].join('\n\n')
}

function benchTable({ machine, cases }: Measured, isReadme: boolean): string {
  const lines = rows.flatMap(([bench, name, label]) => {
    const isShown = shownFirst.includes([bench, name].filter(Boolean).join(' '))
    const found = cases.find((each) => each.bench === bench && each.case === name)
    return found === undefined || (isReadme && !isShown) ? [] : [cells(found, label, isReadme)]
  })
  const headings = ['bench', 'evroute', 'vs. limit', 'vs. others']
  return `${table(headings, lines)}\n\nMeasured on ${daysOf(cases)}: ${machine}.`
}

/** CPU time by thread, with and without threads that send. */
function senderThreadsTable({ cases }: Measured): string {
  const measured = cases.filter(({ bench }) => bench === 'cores')
  const lines = measured.map(({ case: name = '', beside, figures = {} }) => [
    ...name.split(', '),
    ratio(beside['main thread'], false),
    ratio(beside["main thread's CPU"], false),
    ...['mainCpuUs', 'sendersCpuUs', 'storeCpuUs', 'otherCpuUs'].map((each) =>
      String(Math.round(figures[each] ?? 0)),
    ),
  ])
  const headings = [
    'endpoint',
    'who sends',
    'rate',
    'CPU ratio',
    'main',
    'senders',
    'store',
    'others',
  ]
  return `${table(headings, lines)}\n\nMeasured on ${daysOf(measured)}.`
}

/** The figures of the `day` bench, with a row for each part of the day. */
function dayTable({ cases }: Measured): string {
  const measured = cases.filter(({ bench }) => bench === 'day')
  const lines = measured.map(({ case: minute = '', figures = {} }) => {
    const of = (name: string): number => figures[name] ?? NaN
    const megabytes = (name: string): string => `${Math.round(of(name))} MB`
    return [
      minute,
      `${of('p50Ms').toFixed(1)} ms`,
      `${Math.round(of('p99Ms'))} ms`,
      `${of('claimMs').toFixed(2)} ms`,
      megabytes('walMb'),
      ...['serverCpuUs', 'evrouteCpuUs'].map((name) => `${(of(name) / 1_000).toFixed(2)} ms`),
      megabytes('deliveriesMb'),
      of('deliveriesDead').toLocaleString('en'),
      ...['messagesMb', 'seenMb'].map(megabytes),
    ]
  })
  const headings = [
    'minute',
    'p50',
    'p99',
    'claim',
    'WAL',
    "server's CPU per webhook",
    "evroute's",
    'deliveries',
    'their dead rows',
    'texts',
    'seen',
  ]
  return `${table(headings, lines)}\n\nMeasured on ${daysOf(measured)}, with PostgreSQL 18 and fsync.`
}

function daysOf(cases: readonly MeasuredCase[]): string {
  return [...new Set(cases.map(({ measuredOn }) => measuredOn))].sort().join(' and ')
}

function readMeasured(): Measured {
  const path = new URL('../../../docs/speed.json', import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8')) as Measured
}

function cells(found: MeasuredCase, label: string, isShort: boolean): readonly string[] {
  const { bench, rate, beside, figures } = found
  const { limit, ...others } = beside
  const names = Object.keys(others).filter((name) => !isShort || !(`${name} (tuned)` in others))
  return [
    isShort ? label : `\`${bench}\`: ${label}`,
    figures?.['ms'] === undefined
      ? `${Math.round(rate).toLocaleString('en')}/s`
      : `${figures['ms']} ms`,
    limit === undefined ? '' : ratio(limit, isShort),
    [
      ...names.map((name) => `${name} ${ratio(others[name], isShort)}`),
      ...(figures?.['p99Ratio'] === undefined ? [] : [`99th percentile ${p99(figures)}`]),
    ].join(', '),
  ]
}

function ratio(spread: Ratio | undefined, isShort: boolean): string {
  if (spread === undefined) return ''
  const { median, min, max } = spread
  return min === undefined || isShort ? `${median}` : `${median} (${min} to ${max})`
}

/** The 99th percentile of the latency, as a ratio. */
function p99({ p99Ratio, p99RatioMin, p99RatioMax }: Readonly<Record<string, number>>): string {
  return `${p99Ratio} (${p99RatioMin} to ${p99RatioMax})`
}
