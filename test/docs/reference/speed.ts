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

const [begin, end] = ['<!-- figures of docs/speed.json -->', '<!-- end of figures -->']

/** Puts the measured figures into a page that has a section for them. */
export function withFigures(page: string, isReadme: boolean): string {
  const [before, rest = ''] = page.split(begin)
  const [, after] = rest.split(end)
  if (before === undefined || after === undefined) throw new Error('The page has no figures')
  const { machine, cases } = measured()
  const lines = rows.flatMap(([bench, name, label]) => {
    const isShown = shownFirst.includes([bench, name].filter(Boolean).join(' '))
    const found = cases.find((each) => each.bench === bench && each.case === name)
    return found === undefined || (isReadme && !isShown) ? [] : [cells(found, label, isReadme)]
  })
  const days = [...new Set(cases.map(({ measuredOn }) => measuredOn))].sort()
  const headings = ['bench', 'evroute', 'of the limit', 'of others']
  const figures = [table(headings, lines), `Measured on ${days.join(' and ')}: ${machine}.`]
  return [before + begin, ...figures, end + after].join('\n\n')
}

function measured(): Measured {
  const path = new URL('../../../docs/speed.json', import.meta.url)
  return JSON.parse(readFileSync(path, 'utf8')) as Measured
}

function cells(found: MeasuredCase, label: string, isShort: boolean): readonly string[] {
  const { bench, rate, beside, figures } = found
  const { limit, ...others } = beside
  const names = Object.keys(others).filter((name) => !isShort || !name.endsWith('(tuned)'))
  return [
    isShort ? label : `\`${bench}\`: ${label}`,
    figures?.['ms'] === undefined
      ? `${Math.round(rate).toLocaleString('en')}/s`
      : `${figures['ms']} ms`,
    limit === undefined ? '' : ratio(limit, isShort),
    names.map((name) => `${name} ${ratio(others[name], isShort)}`).join(', '),
  ]
}

function ratio(spread: Ratio | undefined, isShort: boolean): string {
  if (spread === undefined) return ''
  const { median, min, max } = spread
  return min === undefined || isShort ? `${median}` : `${median} (${min} to ${max})`
}
