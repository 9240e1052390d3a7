import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { spreadOf, table, type Spread } from './table.ts'

export interface BenchCase {
  /** Its name if the benchmark has several cases, such as `flushAt 20`. */
  readonly name?: string
  /** evroute's rate: the median of all rounds. */
  readonly rate: number
  /** The unit of the rate, such as `webhooks/s`. */
  readonly unit: string
  /** evroute's rate divided by that of each other contender, which is `limit` or the name of a package. */
  readonly beside: Readonly<Record<string, Spread>>
  /** Peak resident memory of evroute's process, in MB. */
  readonly peakMemoryMb?: number
  /** Other figures; each name ends in its unit, such as `p99Ms`. */
  readonly figures?: Readonly<Record<string, number>>
}

export interface BenchReport {
  /** Its name on the command line. */
  readonly bench: string
  /** What was measured, without a final period. */
  readonly measured: string
  readonly cases: readonly BenchCase[]
  /** The targets for the figures, in words. */
  readonly mustReach: string
  /** Packages whose versions the report names. */
  readonly packages?: readonly string[]
  /** Servers that took part, and their settings. */
  readonly measuredWith?: string
  readonly notes?: readonly string[]
}

/** Formats a report for people: a table, the targets and the machine. */
export function reportText(report: BenchReport): string {
  const { bench, measured, cases, mustReach } = report
  const others = namesOf(cases.map(({ beside }) => beside))
  const figures = namesOf(cases.map(({ figures = {} }) => figures))
  const rows = cases.map((each) => [
    each.name ?? '',
    `${rounded(each.rate)} ${each.unit}`,
    ...others.map((name) => spreadText(each.beside[name])),
    each.peakMemoryMb === undefined ? '' : `${rounded(each.peakMemoryMb)} MB`,
    ...figures.map((name) => rounded(each.figures?.[name])),
  ])
  return [
    `${bench}: ${measured}`,
    table(['', 'evroute', ...others.map((name) => `of ${name}`), 'memory', ...figures], rows),
    `Must reach: ${mustReach}`,
    ...(report.notes ?? []),
    `${machineWith(report)}\n`,
  ].join('\n')
}

/** Formats a report for programs, as one line of JSON per case. */
export function reportLines({ bench, cases }: BenchReport): string {
  return cases
    .map(({ name, rate, unit, beside, peakMemoryMb, figures }) => {
      const ratios = Object.fromEntries(
        Object.entries(beside).map(([other, spread]) => [other, roundedSpread(spread)]),
      )
      const line = {
        ...(name === undefined ? {} : { case: name }),
        bench,
        rate: Number(rate.toPrecision(4)),
        unit,
        beside: ratios,
        ...(peakMemoryMb === undefined ? {} : { peakMemoryMb: Math.round(peakMemoryMb) }),
        ...(figures === undefined ? {} : { figures: shortened(figures) }),
      }
      return JSON.stringify(line)
    })
    .join('\n')
}

function shortened(figures: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const entries = Object.entries(figures)
  return Object.fromEntries(entries.map(([name, each]) => [name, Number(each.toPrecision(3))]))
}

/** Divides evroute's rates by those of another contender, round by round. */
export function ratiosOf(own: readonly number[], others: readonly number[]): Spread {
  return spreadOf(own.map((rate, round) => rate / (others[round] ?? NaN)))
}

/** Node's version and the CPU of this machine. */
export function machine(): string {
  const cores = `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}`
  return `Node ${process.versions.node}; ${cores}`
}

function machineWith({ packages = [], measuredWith }: BenchReport): string {
  const versions = packages.map((name) => `${name} ${versionOf(name)}`)
  return [machine(), ...versions, ...(measuredWith === undefined ? [] : [measuredWith])].join('; ')
}

/** Reads the file, because some packages don't export their package.json. */
function versionOf(name: string): string {
  const [path] = ['.', '../..']
    .map((folder) => new URL(`${folder}/node_modules/${name}/package.json`, import.meta.url))
    .filter((each) => existsSync(each))
  if (path === undefined) throw new Error(`${name} is not installed`)
  return (JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }).version
}

function namesOf(records: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  return [...new Set(records.flatMap((record) => Object.keys(record)))]
}

function spreadText(spread: Spread | undefined): string {
  if (spread === undefined) return ''
  const { median, min, max } = roundedSpread(spread)
  return `${median} (${min}..${max})`
}

function roundedSpread({ median, min, max }: Spread): Spread {
  const round = (ratio: number): number => Number(ratio.toFixed(ratio < 10 ? 2 : 1))
  return { median: round(median), min: round(min), max: round(max) }
}

function rounded(number: number | undefined): string {
  if (number === undefined) return ''
  return number.toLocaleString('en', {
    maximumSignificantDigits: number < 1_000 ? 3 : 15,
    maximumFractionDigits: 0,
    roundingPriority: number < 1_000 ? 'morePrecision' : 'lessPrecision',
  })
}
