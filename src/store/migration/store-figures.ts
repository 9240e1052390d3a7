import type { LoggedState } from '../../delivery/index.ts'
import type { DeliveryLedger } from '../../model/index.ts'

/** How many rows of a kind there are. */
export interface RowCount {
  /** What people call them. */
  readonly title: string
  /** How many. */
  readonly rows: number
}

/** How many deliveries of a destination are in a state. */
export interface StateCount {
  /** The destination. */
  readonly destinationId: string
  /** The state. */
  readonly state: LoggedState
  /** How many. */
  readonly deliveries: number
}

/** What is in a store, counted row by row, and its books. */
export interface StoreFigures {
  /** Rows of each kind. */
  readonly rows: readonly RowCount[]
  /** Deliveries of each destination. */
  readonly states: readonly StateCount[]
  /** The books. */
  readonly ledger: DeliveryLedger
}

/** For each table that moves, a sum for each of its columns. */
export type TableSums = readonly Readonly<Record<string, number>>[]

/** A figure that both sides have. */
export interface ComparedFigure {
  /** What is counted. */
  readonly what: string
  /** In the store that moves. */
  readonly source: number
  /** In the store that it moves to. */
  readonly target: number
}

/** Every figure of two stores, beside each other. */
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
