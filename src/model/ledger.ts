/** The ledger of a store: its events and their deliveries. */
export interface DeliveryLedger {
  /** Events that were taken in. */
  readonly accepted: number
  /** Of those accepted, sent on to one destination or more. */
  readonly routed: number
  /** Of those accepted, wanted by no destination. */
  readonly filtered: number
  /** Of those accepted, known already. */
  readonly duplicate: number
  /** Of those accepted, dropped because their user is suppressed. */
  readonly suppressed: number
  /** Deliveries that routed events were turned into. */
  readonly deliveries: number
  /** Deliveries that an endpoint took. */
  readonly delivered: number
  /** Deliveries that can never succeed. */
  readonly failed: number
  /** Deliveries whose retry window ended. */
  readonly expired: number
  /** Deliveries that have not ended, leased ones included. */
  readonly pending: number
}

/** The ledger of an empty store. */
export const emptyLedger: DeliveryLedger = Object.freeze({
  accepted: 0,
  routed: 0,
  filtered: 0,
  duplicate: 0,
  suppressed: 0,
  deliveries: 0,
  delivered: 0,
  failed: 0,
  expired: 0,
  pending: 0,
})

/**
 * The ledger of a run: the changes of a store between two moments. Deliveries that waited at the first moment
 * belong to the run, which delivers them too.
 */
export function ledgerSince(begin: DeliveryLedger, end: DeliveryLedger): DeliveryLedger {
  const { pending, ...flows } = begin
  const run: Record<keyof DeliveryLedger, number> = { ...end }
  for (const line of Object.keys(flows) as (keyof typeof flows)[]) run[line] -= flows[line]
  run.deliveries += pending
  return run
}

/** The counts that every command which moves events prints, and that must balance. */
export interface Ledger extends DeliveryLedger {
  /** Rows or calls that were read. */
  readonly read: number
  /** Of those read, refused. */
  readonly rejected: number
}

/** An equation of the ledger that does not hold. */
export interface Imbalance {
  /** The equation in words, with its figures. */
  readonly equation: string
}

/** Lists the equations that do not hold; empty if the ledger balances. */
export function imbalances(ledger: Ledger): readonly Imbalance[] {
  const equations: readonly (readonly [keyof Ledger, readonly (keyof Ledger)[]])[] = [
    ['read', ['accepted', 'rejected']],
    ['accepted', ['routed', 'filtered', 'duplicate', 'suppressed']],
    ['deliveries', ['delivered', 'failed', 'expired', 'pending']],
  ]
  return equations
    .filter(([whole, parts]) => ledger[whole] !== sum(parts.map((part) => ledger[part])))
    .map(([whole, parts]) => ({
      equation: `${whole} ${ledger[whole]} is not ${parts.map((part) => `${part} ${ledger[part]}`).join(' + ')}`,
    }))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
