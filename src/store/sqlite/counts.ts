import type { EndedCounts } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { Database, Statement } from './database.ts'
import type { Companion } from './write-queue.ts'

/** A figure that the file keeps: a line of the books, deliveries that were purged, ids given out. */
export type CountName = keyof DeliveryLedger | `purged_${keyof EndedCounts}` | 'ids'

interface CountRow {
  readonly name: CountName
  readonly count: number
}

/**
 * The figures that are kept in the file: changes gather in memory and are written once per
 * transaction, as differences, because another process may change the same figures.
 */
export class Counts implements Companion {
  readonly #read: Statement
  readonly #write: Statement
  readonly #changes = new Map<CountName, number>()
  #idsGiven: number

  constructor(database: Database) {
    this.#read = database.prepare('SELECT name, count FROM counts')
    this.#write = database.prepare(`
      INSERT INTO counts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET count = count + excluded.count`)
    this.#idsGiven = this.#all().ids ?? 0
  }

  /** Changes a figure within the transaction at hand. */
  add(name: CountName, change: number): void {
    this.#changes.set(name, (this.#changes.get(name) ?? 0) + change)
  }

  /** An id that no delivery ever had, purged ones included. Only for the process that delivers. */
  takeId(): number {
    this.add('ids', 1)
    return this.#idsGiven + (this.#changes.get('ids') ?? 0)
  }

  save(): void {
    for (const [name, change] of this.#changes) if (change !== 0) this.#write.run(name, change)
  }

  commit(): void {
    this.#idsGiven += this.#changes.get('ids') ?? 0
    this.#changes.clear()
  }

  discard(): void {
    this.#changes.clear()
  }

  /** The books as they were committed. */
  ledger(): DeliveryLedger {
    const counts = this.#all()
    const names = Object.keys(emptyLedger) as (keyof DeliveryLedger)[]
    const lines = names.map((name) => [name, counts[name] ?? 0] as const)
    return { ...emptyLedger, ...Object.fromEntries(lines) }
  }

  /** How many deliveries were purged, by how they ended. */
  purged(): EndedCounts {
    const counts = this.#all()
    return {
      delivered: counts.purged_delivered ?? 0,
      failed: counts.purged_failed ?? 0,
      expired: counts.purged_expired ?? 0,
    }
  }

  #all(): Partial<Record<CountName, number>> {
    const rows = this.#read.all() as readonly CountRow[]
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  }
}
