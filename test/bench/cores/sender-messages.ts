import type { RequestOutcome } from '../../../dist/webhook/index.js'
import type { Destination, Endpoint } from '../../../dist/model/index.js'

/** What a sender thread is started with. */
export interface SenderThreadSettings {
  /** Its shard of all destinations. */
  readonly destinations: readonly Destination[]
  /** Whether its connections lead to the fake endpoint. */
  readonly isFake: boolean
}

/** A webhook to sign and post. */
export interface SenderJob {
  /** Names it in the outcome. */
  readonly number: number
  readonly destinationId: string
  readonly endpoint: Endpoint
  readonly messageId: string
  readonly body: string
}

/** How a request ended. */
export interface SenderResult {
  readonly number: number
  readonly outcome: RequestOutcome
}

/** What a sender thread says: once where it can be observed, then results. */
export type SenderMessage =
  | { readonly kind: 'started'; readonly threadId: string }
  | { readonly kind: 'results'; readonly results: readonly SenderResult[] }
