import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { Database, Statement } from './database.ts'
import type { Companion } from './write-queue.ts'

type Line = keyof DeliveryLedger

/** The books in the database: changes gather in memory and are written once per transaction. */
export class LedgerCounts implements Companion {
  readonly #read: Statement
  readonly #write: Statement
  readonly #changes = new Map<Line, number>()

  constructor(database: Database) {
    this.#read = database.prepare('SELECT name, count FROM ledger')
    this.#write = database.prepare(`
      INSERT INTO ledger VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`)
  }

  /** Changes one line of the books within the transaction at hand. */
  add(line: Line, change: number): void {
    this.#changes.set(line, (this.#changes.get(line) ?? 0) + change)
  }

  save(): void {
    for (const [line, change] of this.#changes) this.#write.run(line, change)
    this.#changes.clear()
  }

  discard(): void {
    this.#changes.clear()
  }

  /** The books as they were committed. */
  read(): DeliveryLedger {
    const rows = this.#read.all() as readonly { readonly name: Line; readonly count: number }[]
    const counts = Object.fromEntries(rows.map(({ name, count }) => [name, count]))
    return { ...emptyLedger, ...counts }
  }
}
