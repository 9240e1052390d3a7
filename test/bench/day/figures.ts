import type { ServerFigures } from './server-figures.ts'
import type { TrafficFigures } from './traffic.ts'

/** What was read at a moment. */
export interface Moment {
  /** The time since it. */
  readonly elapsedMs: () => number
  /** What came since the moment before. */
  readonly traffic: TrafficFigures
  /** What the server has done so far. */
  readonly server: ServerFigures
  /** CPU that the services have used so far, in milliseconds. */
  readonly servicesCpuMs: number
}

/** What was measured between two moments, by names that end in the unit. */
export interface Row extends Readonly<Record<string, number>> {
  readonly webhooksPerSecond: number
  readonly serverCpuUs: number
  readonly evrouteCpuUs: number
}

/** The tables whose rows come and go. */
const tables = ['deliveries', 'messages', 'seen', 'requests', 'counts', 'live_processes']

/** What happened from one moment to the next; sizes and dead rows are those of the later one. */
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

/** A row on one line, for whoever waits for the next. */
export function rowText(number: number, row: Row): string {
  const figures = Object.entries(row).map(([name, value]) => `${name} ${rounded(value)}`)
  return `${number}: ${figures.join(', ')}`
}

/** Which figures of the last row are within 20 % of those of the second, and how far the others are from it. */
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
