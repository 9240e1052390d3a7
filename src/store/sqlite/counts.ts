import type { EndedCounts } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { Database, Statement } from './database.ts'
import { toStored } from '../stored-text.ts'
import type { Companion } from './write-queue.ts'

type LedgerLine = keyof DeliveryLedger

/** A figure that each destination has of its own: a line of the books, or deliveries that were purged. */
export type DeliveryCount =
  'deliveries' | 'pending' | keyof EndedCounts | `purged_${keyof EndedCounts}`

/** A figure of the whole store: a line of the books, or how many ids were given out. */
export type StoreCount = Exclude<LedgerLine, DeliveryCount> | 'ids'

/** Stands in the place of a destination where a figure is of the whole store. */
const wholeStore = ''

/** How much each figure of a destination, or of the whole store, changes. */
type Changes = Map<StoreCount | DeliveryCount, number>

interface CountRow {
  readonly name: StoreCount | DeliveryCount
  readonly count: number
}

type CountsByName = Partial<Record<StoreCount | DeliveryCount, number>>

/**
 * The figures that are kept in the file: changes gather in memory and are written once per
 * transaction, as differences, because another process may change the same figures.
 */
export class Counts implements Companion {
  readonly #readAll: Statement
  readonly #read: Statement
  readonly #write: Statement
  readonly #changes = new Map<string, Changes>()
  /** What the file says, as far as the transaction at hand asked: another process may change it later. */
  readonly #committedPending = new Map<string, number>()
  #idsGiven: number
  #idsTaken = 0

  constructor(database: Database) {
    this.#readAll = database.prepare('SELECT name, sum(count) AS count FROM counts GROUP BY name')
    this.#read = database.prepare('SELECT name, count FROM counts WHERE destination_id = ?')
    this.#write = database.prepare(`
      INSERT INTO counts VALUES (?, ?, ?)
      ON CONFLICT (destination_id, name) DO UPDATE SET count = count + excluded.count`)
    this.#idsGiven = byName(this.#read.all(wholeStore)).ids ?? 0
  }

  /** Changes a figure of the whole store within the transaction at hand. */
  add(name: StoreCount, count: number): void {
    this.#change(wholeStore, name, count)
  }

  /** Changes a figure of a destination within the transaction at hand. */
  addFor(destinationId: string, name: DeliveryCount, count: number): void {
    this.#change(toStored(destinationId), name, count)
  }

  /** Pending deliveries of a destination, within the transaction at hand. */
  pendingOf(destinationId: string): number {
    const stored = toStored(destinationId)
    let committed = this.#committedPending.get(stored)
    if (committed === undefined) {
      committed = byName(this.#read.all(stored)).pending ?? 0
      this.#committedPending.set(stored, committed)
    }
    return committed + (this.#changes.get(stored)?.get('pending') ?? 0)
  }

  /** An id that no delivery ever had, purged ones included. Only for the process that delivers. */
  takeId(): number {
    this.#idsTaken++
    return this.#idsGiven + this.#idsTaken
  }

  /** The last id that was given out, within the transaction at hand. Only for the process that delivers. */
  lastId(): number {
    return this.#idsGiven + this.#idsTaken
  }

  /** How much figures change in the transaction at hand, over all destinations together. */
  changeOf(...names: readonly (StoreCount | DeliveryCount)[]): number {
    let sum = 0
    for (const changes of this.#changes.values()) {
      for (const name of names) sum += changes.get(name) ?? 0
    }
    return sum
  }

  save(): void {
    if (this.#idsTaken > 0) this.add('ids', this.#idsTaken)
    for (const [destinationId, changes] of this.#changes) {
      for (const [name, count] of changes) {
        if (count !== 0) this.#write.run(destinationId, name, count)
      }
    }
  }

  commit(): void {
    this.#idsGiven += this.#idsTaken
    this.discard()
  }

  discard(): void {
    this.#idsTaken = 0
    this.#changes.clear()
    this.#committedPending.clear()
  }

  /** The books as they were committed: of the deliveries to one destination, or of all. */
  ledger(destinationId?: string): DeliveryLedger {
    if (destinationId === undefined) return ledgerOf(byName(this.#readAll.all()))
    const ofStore = byName(this.#read.all(wholeStore))
    const ofDestination = byName(this.#read.all(toStored(destinationId)))
    return ledgerOf({ ...ofStore, ...ofDestination })
  }

  /** How many deliveries were purged, by how they ended. */
  purged(): EndedCounts {
    const counts = byName(this.#readAll.all())
    return {
      delivered: counts.purged_delivered ?? 0,
      failed: counts.purged_failed ?? 0,
      expired: counts.purged_expired ?? 0,
    }
  }

  #change(destinationId: string, name: StoreCount | DeliveryCount, count: number): void {
    const changes = this.#changes.get(destinationId)
    if (changes === undefined) this.#changes.set(destinationId, new Map([[name, count]]))
    else changes.set(name, (changes.get(name) ?? 0) + count)
  }
}

function byName(rows: readonly unknown[]): CountsByName {
  return Object.fromEntries((rows as readonly CountRow[]).map(({ name, count }) => [name, count]))
}

function ledgerOf(counts: CountsByName): DeliveryLedger {
  const names = Object.keys(emptyLedger) as LedgerLine[]
  const lines = names.map((name) => [name, counts[name] ?? 0] as const)
  return { ...emptyLedger, ...Object.fromEntries(lines) }
}
