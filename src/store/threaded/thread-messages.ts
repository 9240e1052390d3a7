import type { MessagePort } from 'node:worker_threads'
import type {
  AudienceStore,
  MembershipChange,
  ReleaseRequest,
  SyncRequest,
  TakeRequest,
} from '../../audience/index.ts'
import type {
  AddRequest,
  AddResult,
  DeliveryLog,
  DeliveryStore,
  LeaseEnd,
  NewEvent,
  SettleRequest,
} from '../../delivery/index.ts'
import type { RegulationStore } from '../../privacy/index.ts'
import type { UpgradeProgress } from '../upgrade.ts'
import type { ThrownError } from './thrown-error.ts'

/** The settings of a thread. */
export interface ThreadSettings {
  /** The file. */
  readonly path: string
  /** Whether the thread delivers from the file, or reads it beside the one that does. */
  readonly access: 'deliver' | 'read'
  /** The port of the events that the thread waits for. */
  readonly events: MessagePort
  /** One number, which is no longer zero once the events are there. */
  readonly areThere: Int32Array
}

/** The result of an add. Leased deliveries are identified by place, id and lease. */
export interface SlimAddition extends Pick<AddResult, 'outcomes' | 'refused'> {
  /** The places of the leased deliveries among all of the batch, counted from zero. */
  readonly places: readonly number[]
  /** Their ids. */
  readonly ids: readonly number[]
  /** Their leases. */
  readonly leases: readonly number[]
}

/** Leases to end, without the other fields of their deliveries, and requests to write. */
export interface SlimSettleRequest extends Omit<SettleRequest, 'settlements'> {
  readonly settlements: readonly LeaseEnd[]
}

/** The queue without the texts that the calling thread has. */
export interface SlimQueue extends Pick<DeliveryStore, 'claim'> {
  /** As `add` of the DeliveryStore. */
  add(batch: AddRequest): Promise<SlimAddition>
  /** As `settle` of the DeliveryStore; returns the places of the settlements that took effect. */
  settle(batch: SlimSettleRequest): Promise<readonly number[]>
}

/** A request of a sync whose events the calling thread makes. */
export type Remote<Request extends SyncRequest> = Omit<Request, 'eventsOf'> & {
  /** The number of their maker. */
  readonly maker: number
}

/** The audiences of a thread whose events the calling thread makes. */
export interface RemoteAudiences extends Omit<AudienceStore, 'take' | 'release'> {
  /** As `take` of the AudienceStore. */
  take(request: Remote<TakeRequest>): ReturnType<AudienceStore['take']>
  /** As `release` of the AudienceStore. */
  release(request: Remote<ReleaseRequest>): ReturnType<AudienceStore['release']>
}

/** Questions that may take long. */
export type Questions = Pick<DeliveryLog, 'list' | 'story' | 'audit'>

/**
 * The methods of a thread, by part. A thread that reads has only `questions`, the other one all the
 * rest.
 */
export interface ThreadParts {
  readonly queue: SlimQueue
  readonly store: Omit<DeliveryStore, keyof SlimQueue | keyof Questions | 'close'>
  readonly audiences: RemoteAudiences
  readonly regulations: RegulationStore
  readonly questions: Questions
}

/** A message to a thread: a call, or the end. */
export type ThreadRequest =
  | {
      readonly kind: 'call'
      /** Identifies the call. */
      readonly call: number
      readonly part: keyof ThreadParts
      readonly method: string
      readonly argument: unknown
    }
  | { readonly kind: 'close'; readonly call: number }

/** A message of a thread. It is open once it has answered the call {@link openingCall}. */
export type ThreadAnswer =
  | { readonly kind: 'done'; readonly call: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly call: number; readonly error: ThrownError }
  /** It upgrades the file before it opens it. */
  | { readonly kind: 'upgrading'; readonly progress: UpgradeProgress }
  /** It waits for events. */
  | {
      readonly kind: 'wanted'
      readonly maker: number
      readonly changes: readonly MembershipChange[]
    }

/** The events that were wanted, or why there are none. */
export type MadeEvents =
  | { readonly kind: 'made'; readonly events: readonly NewEvent[] }
  | { readonly kind: 'failed'; readonly error: ThrownError }

/** The call that opens the file. It is made by starting the thread. */
export const openingCall = 0
