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

  /** Returns the ledger of a complete transfer. */
  ledger(stored: OutletLedger): OutletLedger & Ledger {
    const { read, rejected, filtered } = this.#counts
    const { accepted, filtered: others } = stored
    const counted = { read, rejected, accepted: accepted + filtered, filtered: others + filtered }
    return { ...stored, ...counted }
  }

  /**
   * Returns the ledger of an interrupted transfer to a durable store. Rows that are not in the store don't
   * count: the next run reads them again.
   */
  ledgerOfStore(stored: OutletLedger): OutletLedger & Ledger {
    const ledger = this.ledger(stored)
    return { ...ledger, read: ledger.accepted + ledger.rejected }
  }

  /**
   * Returns the ledger of an interrupted transfer in memory. Rows that the outlet does not know yet count as
   * accepted and pending.
   */
  ledgerOfCut(stored: OutletLedger): OutletLedger & Ledger {
    const ledger = this.ledger(stored)
    const waiting = Math.max(0, this.taken - ledger.accepted)
    return {
      ...ledger,
      accepted: ledger.accepted + waiting,
      routed: stored.routed + waiting,
      deliveries: stored.deliveries + waiting,
      pending: stored.pending + waiting,
    }
  }
}
