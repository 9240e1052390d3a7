import type { Ledger } from '../../model/index.ts'
import type { OutletLedger } from './outlet.ts'

/** Counts rows as they are read, apart from the books of the outlet, so that one can check the other. */
export class RowCounts {
  #read = 0
  #rejected = 0

  /** Rows that were read, also those that could not be used. */
  get read(): number {
    return this.#read
  }

  /** A row was read, and is offered to the outlet. */
  wasRead(): void {
    this.#read++
  }

  /** A row that was read was refused, at once or later. */
  wasRejected(): void {
    this.#rejected++
  }

  /** The books of a transfer that came to its end. */
  books(stored: OutletLedger): OutletLedger & Ledger {
    return { read: this.#read, rejected: this.#rejected, ...stored }
  }

  /** Rows that were read and that the outlet knows nothing of yet. */
  waiting(stored: OutletLedger): number {
    return Math.max(0, this.#read - this.#rejected - stored.accepted)
  }

  /**
   * The books of a transfer over a store that was cut short: rows that are not in the store count for
   * nothing, since the next run reads them again.
   */
  booksOfStore(stored: OutletLedger): OutletLedger & Ledger {
    return { ...this.books(stored), read: stored.accepted + this.#rejected }
  }

  /**
   * The books of a transfer that was cut short: rows that were read and that the outlet knows nothing
   * of yet were accepted too, and wait for their delivery.
   */
  booksOfCut(stored: OutletLedger): OutletLedger & Ledger {
    const waiting = this.waiting(stored)
    return {
      ...this.books(stored),
      accepted: stored.accepted + waiting,
      routed: stored.routed + waiting,
      deliveries: stored.deliveries + waiting,
      pending: stored.pending + waiting,
    }
  }
}
