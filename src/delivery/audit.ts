import type { StoreAudit } from './log-port.ts'

/** A figure of a store and what it counts. */
export interface AuditFigure {
  /** What it counts, in words. */
  readonly name: string
  /** How many those are. */
  readonly count: number
}

/** What must be true of the figures of a store. */
export interface AuditEquation {
  /** What the parts must come to. */
  readonly whole: AuditFigure
  /** What it is made of; nothing where there must be none of it. */
  readonly parts: readonly AuditFigure[]
  /** The whole less its parts: zero where the equation holds. */
  readonly difference: number
}

const ended = ['delivered', 'failed', 'expired'] as const

/**
 * The equations that every store must satisfy: first those of the books, then what is in the store
 * against them.
 */
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
    equation({ name: 'deliveries without their text', count: withoutBody }, []),
  ]
}

function equation(whole: AuditFigure, parts: readonly AuditFigure[]): AuditEquation {
  const sum = parts.reduce((total, { count }) => total + count, 0)
  return { whole, parts, difference: whole.count - sum }
}
