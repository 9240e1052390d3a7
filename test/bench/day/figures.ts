import type { ServerFigures } from './server-figures.ts'
import type { TrafficFigures } from './traffic.ts'

export interface Moment {
  /** The time since that moment. */
  readonly elapsedMs: () => number
  /** Traffic since the previous measurement. */
  readonly traffic: TrafficFigures
  /** The server's counters so far. */
  readonly server: ServerFigures
  /** CPU time of all services so far, in milliseconds. */
  readonly servicesCpuMs: number
}

/** The figures between two moments; each name ends in its unit. */
export interface Row extends Readonly<Record<string, number>> {
  readonly webhooksPerSecond: number
  readonly serverCpuUs: number
  readonly evrouteCpuUs: number
}

/** Tables whose rows are added and purged all the time. */
const tables = ['deliveries', 'messages', 'seen', 'requests', 'counts', 'live_processes']

/** Computes the figures between two moments. Sizes and dead rows are those of the later one. */
export function figuresOf(from: Moment, to: Moment): Row {
  const { traffic, server } = to
  const seconds = (from.elapsedMs() - to.elapsedMs()) / 1_000
  const claims = server.claims.count - from.server.claims.count
  const perWebhookUs = (ms: number): number => (ms * 1_000) / traffic.delivered
  return {
    webhooksPerSecond: traffic.delivered / seconds,
    refused: traffic.refused,
    deadRequests: traffic.deadRequests,
    p50Ms: traffic.p50Ms,
    p99Ms: traffic.p99Ms,
    claimMs: (server.claims.totalMs - from.server.claims.totalMs) / claims,
    claims,
    walMb: (server.walBytes - from.server.walBytes) / 1e6,
    serverCpuUs: perWebhookUs(server.cpuMs - from.server.cpuMs),
    evrouteCpuUs: perWebhookUs(to.servicesCpuMs - from.servicesCpuMs),
    ...Object.fromEntries(
      tables.flatMap((name) => {
        const { bytes = 0, deadRows = 0 } = server.tables.get(name) ?? {}
        return [
          [`${name}Mb`, bytes / 1e6],
          [`${name}Dead`, deadRows],
        ]
      }),
    ),
  }
}

/** Formats a row as one line, to show progress. */
export function rowText(number: number, row: Row): string {
  const figures = Object.entries(row).map(([name, value]) => `${name} ${rounded(value)}`)
  return `${number}: ${figures.join(', ')}`
}

/**
 * Lists the figures of the last row that are within 20 % of the second row's, and both values of the others.
 */
export function flatness(
  second: Row | undefined,
  last: Row | undefined,
): { readonly flat: readonly string[]; readonly other: readonly string[] } {
  const flat: string[] = []
  const other: string[] = []
  for (const [name, value] of Object.entries(last ?? {})) {
    const before = second?.[name] ?? NaN
    const ratio = value === before ? 1 : value / before
    if (ratio >= 0.8 && ratio <= 1.2) flat.push(name)
    else other.push(`${name} ${rounded(before)} to ${rounded(value)}`)
  }
  return { flat, other }
}

function rounded(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en')
}
