import type { LoggedState, NewEvent } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import type { HeldUpErasure } from '../../privacy/index.ts'
import type { LogEngine } from '../log/log-changes.ts'
import type { Script, Sql, SqlDatabase } from '../sql.ts'

/** The key of a delivery in an erasure: its destination in the stored form, and its id. */
export interface DeliveryRowKey {
  readonly destination_id: string
  readonly id: number
}

/** The columns of {@link DeliveryRowKey} in the table `given`. */
export const rowKeyColumns = { destination_id: 'text', id: 'bigint' } as const

/** The columns of a delivery that an erasure checks. */
export interface ErasableRow extends DeliveryRowKey {
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly previous_id: string | null
  readonly state: LoggedState
}

/** A delivery that is locked until the end of the transaction. */
export interface HeldRow extends ErasableRow {
  /** Truthy while a process has the lease. Don't erase the delivery then: its request may be in flight. */
  readonly isLeased: unknown
}

/** The columns of {@link ErasableRow}, with `, ` between them. */
export const erasableColumns =
  'destination_id, id, source_id, message_id, type, user_id, previous_id, state'

/** The engine-specific parts of storing and executing regulations. */
export interface ErasureEngine extends LogEngine {
  readonly database: SqlDatabase
  /** False while an upgrade of the tables is unfinished, because an erasure would miss rows. */
  readonly isReady: () => boolean
  /** Adds notifications with consecutive delivery ids, and returns the last id. */
  readonly notify: (notifications: readonly NewEvent[], nowMs: number) => Script<number>
  /**
   * Waits for transactions that are adding events, and blocks new ones until the commit. Returns the last id
   * of any delivery.
   */
  readonly seal: (notifications: readonly NewEvent[]) => Script<number>
  /** Called after a commit that added deliveries. */
  readonly announce: () => void
  /** The maximum number of deliveries that one transaction erases. */
  readonly erasedRowsMax: number
  /** Further assignments for an erased delivery, as in `, is_erased = true`. */
  readonly erasedColumns: Sql
  /** Deletes endpoints' answers to the deliveries whose keys are in the table `given`. */
  readonly forgetAnswers: (given: Sql) => Script<void>
  /** Removes erased data from the files, and then records the removal in each regulation that waits for it. */
  readonly cleanFiles: () => Promise<'done' | 'waiting' | HeldUpErasure>
}
