import type { Ledger } from '../../model/index.ts'
import type { OutletLedger } from './outlet.ts'

/** Counts rows while they are read, independently of the outlet's ledger, so that one can check the other. */
export class RowCounts {
  #read = 0
  #rejected = 0
  #filtered = 0
  #parsed = 0

  /** All rows that were read, valid or not. */
  get read(): number {
    return this.#read
  }

  /** Rows that were read and not rejected. */
  get taken(): number {
    return this.#read - this.#rejected
  }

  /** Counts rows that were parsed and will be offered. */
  wereParsed(rows: number): void {
    this.#parsed += rows
  }

  get parsed(): number {
    return this.#parsed
  }

  /** Counts a row that is offered to the outlet. */
  wasRead(): void {
    this.#read++
  }

  /** Counts a row that was rejected, at once or later. */
  wasRejected(): void {
    this.#rejected++
  }

  /** Counts a row that `--only` left out: the outlet never sees it. */
  wasFiltered(): void {
    this.#filtered++
  }

  /** Returns the ledger of a complete transfer. */
  ledger(stored: OutletLedger): OutletLedger & Ledger {
    return {
      read: this.#read,
      rejected: this.#rejected,
      ...stored,
      accepted: stored.accepted + this.#filtered,
      filtered: stored.filtered + this.#filtered,
    }
  }

  /** Returns how many rows were read that the outlet does not know yet. */
  waiting(stored: OutletLedger): number {
    return Math.max(0, this.#read - this.#rejected - this.#filtered - stored.accepted)
  }

  /**
   * Returns the ledger of an interrupted transfer to a durable store. Rows that are not in the store don't
   * count: the next run reads them again.
   */
  ledgerOfStore(stored: OutletLedger): OutletLedger & Ledger {
    const ledger = this.ledger(stored)
    return { ...ledger, read: ledger.accepted + this.#rejected }
  }

  /**
   * Returns the ledger of an interrupted transfer in memory. Rows that the outlet does not know yet count as
   * accepted and pending.
   */
  ledgerOfCut(stored: OutletLedger): OutletLedger & Ledger {
    const waiting = this.waiting(stored)
    const ledger = this.ledger(stored)
    return {
      ...ledger,
      accepted: ledger.accepted + waiting,
      routed: stored.routed + waiting,
      deliveries: stored.deliveries + waiting,
      pending: stored.pending + waiting,
    }
  }
}
