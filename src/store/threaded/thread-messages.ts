import type { MessagePort } from 'node:worker_threads'
import type { MembershipChange } from '../../audience/index.ts'
import type { NewEvent } from '../../delivery/index.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import type { ThreadParts } from './answer-calls.ts'
import type { ThrownError } from './thrown-error.ts'

/** The settings of a thread. */
export interface ThreadSettings {
  /** The file. */
  readonly path: string
  /** Whether the thread delivers from the file, or reads it while another thread delivers. */
  readonly access: 'deliver' | 'read'
  /** The port of the events that the thread waits for. */
  readonly events: MessagePort
  /** One number: zero until the events are there. */
  readonly areThere: Int32Array
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

/** The events that a call asked for, or why there are none. */
export type MadeEvents =
  | { readonly kind: 'made'; readonly events: readonly NewEvent[] }
  | { readonly kind: 'failed'; readonly error: ThrownError }

/** The call that opens the file. Starting the thread makes this call. */
export const openingCall = 0
