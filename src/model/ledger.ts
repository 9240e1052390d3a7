/** The counts of a store: its events and their deliveries. */
export interface DeliveryLedger {
  /** Accepted events. */
  readonly accepted: number
  /** Accepted events that go to at least one destination. */
  readonly routed: number
  /** Accepted events that go to no destination. */
  readonly filtered: number
  /** Accepted events that the store already had. */
  readonly duplicate: number
  /** Accepted events that were dropped because their user is suppressed. */
  readonly suppressed: number
  /** Deliveries created for routed events. */
  readonly deliveries: number
  /** Deliveries that an endpoint accepted. */
  readonly delivered: number
  /** Deliveries that failed and get no further attempts. */
  readonly failed: number
  /** Deliveries whose retry window ended. */
  readonly expired: number
  /** Deliveries that have not ended, including leased ones. */
  readonly pending: number
}

/** A ledger of zeros. Its keys list the names of all counts. */
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
 * Returns the ledger of a run: how much the counts of a store grew since `begin`, and how many deliveries are pending
 * at its end. Counts deliveries that were already pending at the beginning as new, because the run delivers them.
 */
export function ledgerSince(begin: DeliveryLedger, end: DeliveryLedger): DeliveryLedger {
  const { pending, ...flows } = begin
  const run: Record<keyof DeliveryLedger, number> = { ...end }
  for (const line of Object.keys(flows) as (keyof typeof flows)[]) run[line] -= flows[line]
  run.deliveries += pending
  return run
}

/** The counts that commands print after they have moved events. They must balance. */
export interface Ledger extends DeliveryLedger {
  /** Rows or calls that were read. */
  readonly read: number
  /** Rows or calls that were refused. */
  readonly rejected: number
}

/** Lists the equations that do not hold, in words and with their figures; empty if the ledger balances. */
export function imbalances(ledger: Ledger): readonly { readonly equation: string }[] {
  const equations: readonly (readonly [keyof Ledger, readonly (keyof Ledger)[]])[] = [
    ['read', ['accepted', 'rejected']],
    ['accepted', ['routed', 'filtered', 'duplicate', 'suppressed']],
    ['deliveries', ['delivered', 'failed', 'expired', 'pending']],
  ]
  return equations
    .filter(
      ([whole, parts]) => ledger[whole] !== parts.reduce((sum, part) => sum + ledger[part], 0),
    )
    .map(([whole, parts]) => ({
      equation: `${whole} ${ledger[whole]} is not ${parts.map((part) => `${part} ${ledger[part]}`).join(' + ')}`,
    }))
}
