import type { LoggedState, NewEvent } from '../../delivery/index.ts'
import type { EventType } from '../../model/index.ts'
import type { HeldUpErasure } from '../../privacy/index.ts'
import type { Script, SqlDatabase } from '../sql/index.ts'

/** A delivery, as an erasure finds it: by its destination, as it is stored, and its id. */
export interface DeliveryPlace {
  readonly destinationId: string
  readonly id: number
}

/** A range of ids: behind one, up to another. */
export interface IdRange {
  readonly afterId: number
  readonly lastId: number
}

/** The columns of a delivery that tell whether an erasure is about it. */
export interface ErasableRow {
  readonly destination_id: string
  readonly id: number
  readonly source_id: string
  readonly message_id: string
  readonly type: EventType
  readonly user_id: string | null
  readonly previous_id: string | null
  readonly state: LoggedState
}

/** A delivery that is locked until the end of the transaction. */
export interface HeldRow extends ErasableRow {
  /** Whether it is leased: what is being sent cannot be taken back. */
  readonly isLeased: boolean
}

/** The columns of {@link ErasableRow}. */
export const erasableColumns =
  'destination_id, id, source_id, message_id, type, user_id, previous_id, state'

/** Notifications of a regulation to a destination. */
export interface AskedNotifications extends IdRange {
  /** The regulation. */
  readonly number: number
  /** The destination, as it is stored. */
  readonly destinationId: string
}

/** How many notifications of a regulation are in a state. Texts are as they are stored. */
export interface CountedNotifications {
  readonly number: number
  readonly destination_id: string
  readonly source_id: string
  readonly state: LoggedState
  readonly count: number
}

/** Up to where ids were given when a regulation was stored. */
export interface RegulationIds {
  /** The last id of a delivery that was there. */
  readonly lastId: number
  /** The last id of its notifications. */
  readonly lastNotificationId: number
}

/** What regulations need of the engine that they are in. */
export interface RegulationEngine {
  /** Where they are. */
  readonly database: SqlDatabase
  /** Counts notifications of regulations. */
  readonly countNotifications: (
    asked: readonly AskedNotifications[],
  ) => Script<readonly CountedNotifications[]>
}

/** What storing and carrying out regulations needs of the engine that they are in. */
export interface ErasureEngine extends RegulationEngine {
  /** Whether an erasure finds everything: the tables may still be brought up to date. */
  readonly isReady: () => boolean
  /** Reserves ids for notifications, in a transaction of its own; undefined where they need none. */
  readonly reserveIds: ((count: number) => Script<number>) | undefined
  /** Writes notifications with their deliveries, with the ids behind the one before those reserved. */
  readonly notify: (
    notifications: readonly NewEvent[],
    moment: { readonly nowMs: number; readonly reservedAfterId: number },
  ) => Script<void>
  /** Waits until all events that others write are written, and lets none be written until the commit. */
  readonly seal: (
    notifications: readonly NewEvent[],
    moment: { readonly reservedAfterId: number },
  ) => Script<RegulationIds>
  /** Is called after a commit that added deliveries. */
  readonly announce: () => void
  /** Some deliveries behind a place, in the order of a walk; none once it is over. */
  readonly lookBehind: (
    place: DeliveryPlace,
    request: { readonly range: IdRange; readonly rowsMax: number },
  ) => Script<readonly ErasableRow[]>
  /** Whether a delivery is pending. */
  readonly hasPending: (range: IdRange) => Script<boolean>
  /** Locks deliveries, those of some places that are there. */
  readonly hold: (places: readonly DeliveryPlace[], nowMs: number) => Script<readonly HeldRow[]>
  /** What an erased delivery gets besides, as in `, is_erased = true`; empty where nothing. */
  readonly erasedColumns: string
  /** Empties the answers of endpoints. */
  readonly forgetAnswers: (places: readonly DeliveryPlace[]) => Script<void>
  /** Counts pending deliveries that failed: one for each destination, as it is stored. */
  readonly countFailed: (destinationIds: readonly string[]) => Script<void>
  /**
   * Leaves nothing of what was erased in files, as far as the engine can.
   *
   * @param number - the regulation
   */
  readonly leaveNoTraces: (number: number) => Promise<'done' | 'waiting' | HeldUpErasure>
}
