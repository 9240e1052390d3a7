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

/** What a thread is started with. */
export interface ThreadSettings {
  /** The file. */
  readonly path: string
  /** Whether the thread delivers from the file, or reads it beside the one that does. */
  readonly access: 'deliver' | 'read'
  /** Where events come that the thread waits for. */
  readonly events: MessagePort
  /** One number that is no longer zero once they are there. */
  readonly areThere: Int32Array
}

/** The result of a batch that was added. Deliveries that were handed over are known by place, id and lease. */
export interface SlimAddition extends Pick<AddResult, 'outcomes' | 'refused'> {
  /** Which of all deliveries of the batch were handed over, in order, counted from zero. */
  readonly places: readonly number[]
  /** Their ids. */
  readonly ids: readonly number[]
  /** Their leases. */
  readonly leases: readonly number[]
}

/** Leases to end, without what else is known of their deliveries, and requests to write. */
export interface SlimSettleRequest extends Omit<SettleRequest, 'settlements'> {
  readonly settlements: readonly LeaseEnd[]
}

/** Deliveries in and out. No text travels that the thread which asks has. */
export interface SlimQueue extends Pick<DeliveryStore, 'claim'> {
  /** As `add` of the DeliveryStore. */
  add(batch: AddRequest): Promise<SlimAddition>
  /** As `settle` of the DeliveryStore; the places of the settlements that took effect. */
  settle(batch: SlimSettleRequest): Promise<readonly number[]>
}

/** A request of a sync whose events are made by the thread that asks. */
export type Remote<Request extends SyncRequest> = Omit<Request, 'eventsOf'> & {
  /** Who makes them. */
  readonly maker: number
}

/** Audiences whose calls are made by the thread that asks. */
export interface RemoteAudiences extends Omit<AudienceStore, 'take' | 'release'> {
  /** As `take` of the AudienceStore. */
  take(request: Remote<TakeRequest>): ReturnType<AudienceStore['take']>
  /** As `release` of the AudienceStore. */
  release(request: Remote<ReleaseRequest>): ReturnType<AudienceStore['release']>
}

/** What may take long to answer. */
export type Questions = Pick<DeliveryLog, 'list' | 'story' | 'audit'>

/** What a thread can be asked, by part and method: one that reads only `questions`, the other all else. */
export interface ThreadParts {
  readonly queue: SlimQueue
  readonly store: Omit<DeliveryStore, keyof SlimQueue | keyof Questions | 'close'>
  readonly audiences: RemoteAudiences
  readonly regulations: RegulationStore
  readonly questions: Questions
}

/** What a thread is told: to do something, or to do no more. */
export type ThreadRequest =
  | {
      readonly kind: 'call'
      /** Tells it from every other call. */
      readonly call: number
      readonly part: keyof ThreadParts
      readonly method: string
      readonly argument: unknown
    }
  | { readonly kind: 'close'; readonly call: number }

/** What a thread tells. It is open once it has answered the call {@link openingCall}. */
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

/** The call that nobody has to make: opening the file. */
export const openingCall = 0
