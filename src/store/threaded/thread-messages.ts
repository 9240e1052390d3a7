import type { MessagePort } from 'node:worker_threads'
import type {
  AudienceStore,
  MembershipChange,
  ReleaseRequest,
  TakeRequest,
} from '../../audience/index.ts'
import type {
  AddRequest,
  ClaimRequest,
  DeliveryLog,
  DeliveryStore,
  LeasedDelivery,
  NewEvent,
} from '../../delivery/index.ts'
import type { RegulationStore } from '../../privacy/index.ts'
import type { Addition } from '../sqlite/adding.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import type { SettleMessage } from './settle-message.ts'
import type { ThrownError } from './thrown-error.ts'

/** The settings of a thread. */
export interface ThreadSettings {
  /** The file. */
  readonly path: string
  /** Whether the thread delivers from the file, or reads it beside the one that does. */
  readonly access: 'deliver' | 'read'
  /** The port of the events that the thread waits for. */
  readonly events: MessagePort
  /** One number: zero until the events are there. */
  readonly areThere: Int32Array
}

/** The methods that every webhook needs, without the texts that the calling thread has. */
export interface ThreadQueue {
  /** Does the same as `DeliveryStore.add`. */
  add(batch: AddRequest): Promise<Addition>
  /** Does the same as `DeliveryStore.claim`. */
  claim(request: ClaimRequest): Promise<readonly LeasedDelivery[]>
  /** Like `DeliveryStore.settle`, but returns the indexes of the settlements that took effect. */
  settle(message: SettleMessage): Promise<readonly number[]>
}

/** Audiences whose events the calling thread makes. */
export interface ThreadAudiences extends Omit<AudienceStore, 'take' | 'release'> {
  /** Like `AudienceStore.take`, but without `eventsOf`, which the calling thread supplies. */
  take(request: Omit<TakeRequest, 'eventsOf'>): ReturnType<AudienceStore['take']>
  /** Like `AudienceStore.release`, but without `eventsOf`, which the calling thread supplies. */
  release(request: Omit<ReleaseRequest, 'eventsOf'>): ReturnType<AudienceStore['release']>
}

/** Look-ups that may take long. */
export type Questions = Pick<DeliveryLog, 'list' | 'story' | 'audit'>

/**
 * The methods of a thread, by part. A reading thread has only `questions`; a delivering one has the others.
 */
export interface ThreadParts {
  readonly queue: ThreadQueue
  readonly store: Omit<DeliveryStore, keyof ThreadQueue | keyof Questions>
  readonly audiences: ThreadAudiences
  readonly regulations: RegulationStore
  readonly questions: Questions & Pick<DeliveryStore, 'close'>
}

/** A call of a method in a thread. */
export interface ThreadRequest {
  /** Identifies the call. */
  readonly call: number
  readonly part: keyof ThreadParts
  readonly method: string
  readonly argument: unknown
}

/** A message of a thread. Its store is open once the thread has answered the call {@link openingCall}. */
export type ThreadAnswer =
  | { readonly kind: 'done'; readonly call: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly call: number; readonly error: ThrownError }
  /** The thread upgrades the file before it opens it. */
  | { readonly kind: 'upgrading'; readonly progress: UpgradeProgress }
  /** A call waits for events. */
  | {
      readonly kind: 'wanted'
      readonly call: number
      readonly changes: readonly MembershipChange[]
    }

/** The events that were wanted, or why there are none. */
export type MadeEvents =
  | { readonly kind: 'made'; readonly events: readonly NewEvent[] }
  | { readonly kind: 'failed'; readonly error: ThrownError }

/** The call that opens the file. Starting the thread makes this call. */
export const openingCall = 0
