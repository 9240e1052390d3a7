import type { LoggedState } from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'

/** The number of rows of a kind. */
export interface RowCount {
  /** The name of the kind in messages. */
  readonly title: string
  /** How many. */
  readonly rows: number
}

/** The number of deliveries of a destination in a state. */
export interface StateCount {
  /** The destination. */
  readonly destinationId: string
  /** The state. */
  readonly state: LoggedState
  /** How many. */
  readonly deliveries: number
}

/** The figures of a store, counted row by row, and its ledger. */
export interface StoreFigures {
  /** Rows of each kind. */
  readonly rows: readonly RowCount[]
  /** Deliveries of each destination. */
  readonly states: readonly StateCount[]
  /** The ledger. */
  readonly ledger: DeliveryLedger
}

/** For each table of a move, a sum for each of its columns. */
export type TableSums = readonly Readonly<Record<string, number>>[]

/** A figure of both stores. */
export interface ComparedFigure {
  /** The name of the figure. */
  readonly what: string
  /** In the old store. */
  readonly source: number
  /** In the new store. */
  readonly target: number
}

/** The figures of both stores, side by side. */
export function compareFigures(
  source: StoreFigures,
  target: StoreFigures,
): readonly ComparedFigure[] {
  const [ofSource, ofTarget] = [namedFigures(source), namedFigures(target)]
  const names = new Set([...ofSource.keys(), ...ofTarget.keys()])
  return [...names].map((what) => ({
    what,
    source: ofSource.get(what) ?? 0,
    target: ofTarget.get(what) ?? 0,
  }))
}

function namedFigures({ rows, states, ledger }: StoreFigures): ReadonlyMap<string, number> {
  return new Map([
    ...rows.map(({ title, rows: count }) => [title, count] as const),
    ...states.map(
      ({ destinationId, state, deliveries }) => [`${destinationId} ${state}`, deliveries] as const,
    ),
    ...Object.entries(ledger).map(([line, count]) => [`ledger ${line}`, count] as const),
  ])
}
