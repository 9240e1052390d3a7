import type { StoreAudit } from './log-port.ts'

interface AuditFigure {
  /** The name to show, such as `in the store`. */
  readonly name: string
  readonly count: number
}

/** An equation that the counts of a store must satisfy. */
export interface AuditEquation {
  readonly whole: AuditFigure
  /** Empty if the whole must be zero. */
  readonly parts: readonly AuditFigure[]
  /** The whole minus its parts: zero if the equation holds. */
  readonly difference: number
}

const ended = ['delivered', 'failed', 'expired'] as const

/** Returns the equations that must hold within the ledger, and between the ledger and the rows. */
export function auditEquations(audit: StoreAudit): readonly AuditEquation[] {
  const { ledger, counted, purged, withoutBody } = audit
  const line = (name: keyof typeof ledger): AuditFigure => ({ name, count: ledger[name] })
  const lines = (...names: readonly (keyof typeof ledger)[]): readonly AuditFigure[] =>
    names.map(line)
  return [
    equation(line('accepted'), lines('routed', 'filtered', 'duplicate', 'suppressed')),
    equation(line('deliveries'), lines(...ended, 'pending')),
    equation(line('pending'), [{ name: 'in the store', count: counted.pending }]),
    ...ended.map((name) =>
      equation(line(name), [
        { name: 'in the store', count: counted[name] },
        { name: 'purged', count: purged[name] },
      ]),
    ),
    equation({ name: 'deliveries without a body', count: withoutBody }, []),
  ]
}

function equation(whole: AuditFigure, parts: readonly AuditFigure[]): AuditEquation {
  const sum = parts.reduce((total, { count }) => total + count, 0)
  return { whole, parts, difference: whole.count - sum }
}
