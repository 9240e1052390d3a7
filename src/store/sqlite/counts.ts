import type { DestinationCounts, EndedCounts } from '../../delivery/index.ts'
import { emptyLedger, type DeliveryLedger } from '../../model/index.ts'
import type { CountChanges } from '../log/log-changes.ts'
import { raw, scriptOf, sql, type Query } from '../sql.ts'
import { fromStoredRow, toStored } from '../stored-text.ts'
import type { Statements } from './statements.ts'
import type { TransactionHooks } from './write-queue.ts'

/** A count for each destination: a line of the ledger, or a number of purged deliveries. */
export type DeliveryCount =
  'deliveries' | 'pending' | keyof EndedCounts | `purged_${keyof EndedCounts}`

/** A count for the whole store: a line of the ledger, or the number of ids assigned so far. */
export type StoreCount = Exclude<keyof DeliveryLedger, DeliveryCount> | 'ids'

/** The `destination_id` of the counts for the whole store. */
const wholeStore = ''

const deliverySums = ['deliveries', 'delivered', 'failed', 'expired', 'pending']
  .map((name) => `coalesce(sum(count) FILTER (WHERE name = '${name}'), 0) AS ${name}`)
  .join(', ')

type CountName = StoreCount | DeliveryCount

type NamedCounts = Readonly<Partial<Record<CountName, number>>>

/**
 * The counts in the file. Changes are collected in memory, and written once per transaction. They are
 * written as differences, because another process may change the same counts.
 */
export class Counts implements TransactionHooks {
  readonly #statements: Statements
  /** Uncommitted changes, by the `destination_id` in the table. */
  readonly #changes = new Map<string, Map<CountName, number>>()
  /** Committed pending counts, cached for one transaction only, because other processes may change them. */
  readonly #committedPending = new Map<string, number>()
  #idsGiven: number
  #idsTaken = 0

  constructor(statements: Statements) {
    this.#statements = statements
    this.#idsGiven = this.#committedOf(wholeStore).ids ?? 0
  }

  add(name: StoreCount, count: number): void {
    this.#change(wholeStore, name, count)
  }

  addFor(destinationId: string, name: DeliveryCount, count: number): void {
    this.#change(toStored(destinationId), name, count)
  }

  /** Counts the change of these deliveries to the state `after`, in the current transaction. */
  readonly countChanges: CountChanges = (rows, after) =>
    scriptOf(() => {
      for (const { destination_id: stored, state } of rows) {
        this.#change(stored, state, -1)
        this.#change(stored, after, 1)
      }
    })

  /** Returns the pending deliveries of a destination, including changes in the current transaction. */
  pendingOf(destinationId: string): number {
    const stored = toStored(destinationId)
    let committed = this.#committedPending.get(stored)
    if (committed === undefined) {
      committed = this.#committedOf(stored).pending ?? 0
      this.#committedPending.set(stored, committed)
    }
    return committed + (this.#changes.get(stored)?.get('pending') ?? 0)
  }

  /** Assigns a delivery id. Only the delivering process may call it. */
  takeId(): number {
    this.#idsTaken++
    return this.#idsGiven + this.#idsTaken
  }

  /** Returns the last assigned delivery id. Only the delivering process may call it. */
  lastId(): number {
    return this.#idsGiven + this.#idsTaken
  }

  /** Adds up the changes to these counts in the current transaction, over all destinations. */
  changeOf(...names: readonly CountName[]): number {
    let sum = 0
    for (const changes of this.#changes.values()) {
      for (const name of names) sum += changes.get(name) ?? 0
    }
    return sum
  }

  beforeCommit(): void {
    if (this.#idsTaken > 0) this.add('ids', this.#idsTaken)
    for (const [destinationId, changes] of this.#changes) {
      for (const [name, count] of changes) {
        if (count === 0) continue
        this.#statements.run(sql`
          INSERT INTO counts VALUES (${destinationId}, ${name}, ${count})
          ON CONFLICT (destination_id, name) DO UPDATE SET count = count + excluded.count`)
      }
    }
  }

  afterCommit(): void {
    this.#idsGiven += this.#idsTaken
    this.afterRollback()
  }

  afterRollback(): void {
    this.#idsTaken = 0
    this.#changes.clear()
    this.#committedPending.clear()
  }

  /** Reads the committed ledger of one destination, or of the whole store. */
  ledger(destinationId?: string): DeliveryLedger {
    if (destinationId === undefined) return ledgerOf(this.#sums())
    return ledgerOf({
      ...this.#committedOf(wholeStore),
      ...this.#committedOf(toStored(destinationId)),
    })
  }

  /** Reads the committed counts of all destinations. */
  ofDestinations(): readonly DestinationCounts[] {
    const rows = this.#statements.all(sql`
      SELECT destination_id AS destinationId, ${raw(deliverySums)} FROM counts
      WHERE destination_id <> ${wholeStore} GROUP BY destination_id ORDER BY destination_id`)
    return (rows as DestinationCounts[]).map(fromStoredRow)
  }

  purged(): EndedCounts {
    const counts = this.#sums()
    return {
      delivered: counts.purged_delivered ?? 0,
      failed: counts.purged_failed ?? 0,
      expired: counts.purged_expired ?? 0,
    }
  }

  #committedOf(stored: string): NamedCounts {
    return this.#read(sql`SELECT name, count FROM counts WHERE destination_id = ${stored}`)
  }

  #sums(): NamedCounts {
    return this.#read(sql`SELECT name, sum(count) AS count FROM counts GROUP BY name`)
  }

  #read(query: Query): NamedCounts {
    const rows = this.#statements.all(query) as { name: CountName; count: number }[]
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  }

  #change(destinationId: string, name: CountName, count: number): void {
    const changes = this.#changes.get(destinationId)
    if (changes === undefined) this.#changes.set(destinationId, new Map([[name, count]]))
    else changes.set(name, (changes.get(name) ?? 0) + count)
  }
}

function ledgerOf(counts: NamedCounts): DeliveryLedger {
  const names = Object.keys(emptyLedger) as (keyof DeliveryLedger)[]
  const lines = names.map((name) => [name, counts[name] ?? 0] as const)
  return { ...emptyLedger, ...Object.fromEntries(lines) }
}
