import type { UpgradeProgress } from '../sqlite/schema.ts'
import type { ThreadParts } from './answer-calls.ts'
import type { ThrownError } from './thrown-error.ts'

/** The settings of a thread. */
export interface ThreadSettings {
  /** The file. */
  readonly path: string
  /** Whether the thread delivers from the file, or reads it while another thread delivers. */
  readonly access: 'deliver' | 'read'
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

/** The call that opens the file. Starting the thread makes this call. */
export const openingCall = 0
