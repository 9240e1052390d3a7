import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { spreadOf, table, type Spread } from './table.ts'

/** What was measured of one case. */
export interface BenchCase {
  /** What sets it apart, where there are several: `flushAt 20`. */
  readonly name?: string
  /** How much of it evroute did: the middle one of all rounds. */
  readonly rate: number
  /** Of what that is a count: `webhooks/s`. */
  readonly unit: string
  /** By what evroute was measured beside, evroute's rate over the other's: `limit`, or a package's name. */
  readonly beside: Readonly<Record<string, Spread>>
  /** The most resident memory that evroute's process had, in MB. */
  readonly peakMemoryMb?: number
  /** What else was measured, by names that end in the unit: `p99Ms`. */
  readonly figures?: Readonly<Record<string, number>>
}

/** What a benchmark has found. */
export interface BenchReport {
  /** The name that it is asked for by. */
  readonly bench: string
  /** What was done, in a sentence without its period. */
  readonly measured: string
  /** What came of it. */
  readonly cases: readonly BenchCase[]
  /** What the figures have to be, in words. */
  readonly mustReach: string
  /** Packages whose versions matter, beside Node's. */
  readonly packages?: readonly string[]
  /** What else it was measured with, such as a server and its settings. */
  readonly measuredWith?: string
  /** What else is to be said, line by line. */
  readonly notes?: readonly string[]
}

/** A report for people: a table, what it has to reach, and the machine. */
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

/** A report for programs: one line of JSON per case. */
export function reportLines({ bench, cases }: BenchReport): string {
  return cases
    .map(({ name, rate, unit, beside, peakMemoryMb, figures }) => {
      const ratios = Object.fromEntries(
        Object.entries(beside).map(([other, spread]) => [other, withPlaces(spread)]),
      )
      const line = {
        ...(name === undefined ? {} : { case: name }),
        bench,
        rate: Number(rate.toPrecision(4)),
        unit,
        beside: ratios,
        ...(peakMemoryMb === undefined ? {} : { peakMemoryMb: Math.round(peakMemoryMb) }),
        ...(figures === undefined ? {} : { figures: inShort(figures) }),
      }
      return JSON.stringify(line)
    })
    .join('\n')
}

function inShort(figures: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const entries = Object.entries(figures)
  return Object.fromEntries(entries.map(([name, each]) => [name, Number(each.toPrecision(3))]))
}

/** evroute's rates over those of something else, measured in the same rounds. */
export function ratiosOf(own: readonly number[], others: readonly number[]): Spread {
  return spreadOf(own.map((rate, round) => rate / (others[round] ?? NaN)))
}

/** What it is measured on. */
export function machine(): string {
  const cores = `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}`
  return `Node ${process.versions.node}; ${cores}`
}

function machineWith({ packages = [], measuredWith }: BenchReport): string {
  const versions = packages.map((name) => `${name} ${versionOf(name)}`)
  return [machine(), ...versions, ...(measuredWith === undefined ? [] : [measuredWith])].join('; ')
}

/** Not by `require`: some packages do not export their package.json. */
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
  const { median, min, max } = withPlaces(spread)
  return `${median} (${min}..${max})`
}

function withPlaces({ median, min, max }: Spread): Spread {
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
