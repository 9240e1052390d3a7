import type { MoveOutcome, MovePlan, RowCount } from '../../store/index.ts'

/** The outcome of a migration, as a record for programs. */
export function outcomeRecord(
  outcome: MoveOutcome,
  durationMs: number,
): Readonly<Record<string, unknown>> {
  const { kind, place } = outcome
  const record = { kind: 'migrated', outcome: kind, to: place, ms: Math.round(durationMs) }
  switch (outcome.kind) {
    case 'interrupted':
      return record
    case 'different':
      return { ...record, figures: outcome.figures, columns: outcome.columns }
    case 'moved':
    case 'already':
      return { ...record, figures: outcome.figures }
  }
}

/** The plan of a migration, as a record for programs. */
export function planRecord({
  place,
  figures,
  isMoved,
}: MovePlan): Readonly<Record<string, unknown>> {
  const { rows, states, ledger } = figures
  return {
    kind: 'migrated',
    outcome: 'planned',
    to: place,
    moved: isMoved,
    kinds: Object.fromEntries(rows.map(({ title, rows: count }: RowCount) => [title, count])),
    states,
    ledger,
  }
}
