import type { Ledger } from '../../model/index.ts'
import type { OutletLedger } from './outlet.ts'

/**
 * - `parsed`: rows that will be offered;
 * - `read`: rows that were offered to the outlet, valid or not;
 * - `rejected`: rows that were rejected, at once or later;
 * - `filtered`: rows that `--only` excluded. The outlet never sees them.
 */
type Counted = 'parsed' | 'read' | 'rejected' | 'filtered'

/** Counts rows as they are read, independently of the outlet's ledger, so that each can check the other. */
export class RowCounts {
  readonly #counts: Record<Counted, number> = { parsed: 0, read: 0, rejected: 0, filtered: 0 }

  get parsed(): number {
    return this.#counts.parsed
  }

  get read(): number {
    return this.#counts.read
  }

  /** Rows that were read and not rejected. */
  get taken(): number {
    return this.#counts.read - this.#counts.rejected
  }

  /** Counts a row. */
  add(name: Counted, rows = 1): void {
    this.#counts[name] += rows
  }

  /**
   * Adds the counts of rows to the outlet's ledger.
   *
   * @param end - `cut_with_store`: rows that did not reach the store don't count, because the next run reads them
   * again. `cut`: without a store, rows that the command did not finish count as accepted and pending.
   */
  ledger(stored: OutletLedger, end: 'complete' | 'cut' | 'cut_with_store'): OutletLedger & Ledger {
    const { rejected, filtered } = this.#counts
    const accepted = stored.accepted + filtered
    const read = end === 'cut_with_store' ? accepted + rejected : this.#counts.read
    const lost = end === 'cut' ? Math.max(0, this.taken - accepted) : 0
    return {
      ...{ ...stored, read, rejected, filtered: stored.filtered + filtered },
      accepted: accepted + lost,
      routed: stored.routed + lost,
      deliveries: stored.deliveries + lost,
      pending: stored.pending + lost,
    }
  }
}
