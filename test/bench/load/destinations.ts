import type { DestinationSettings } from '../../../dist/webhook/index.js'
import { sampleSecret } from '../sample-webhook.ts'

/** A destination with one endpoint, whose source has the same id. */
export function destinationTo(id: string, url: string, concurrency?: number): DestinationSettings {
  return {
    id,
    sourceIds: [id],
    endpoints: [{ url }],
    sharedSecret: sampleSecret,
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

/** A destination that is down. Nothing listens on port 9 (discard), so its breaker opens at once. */
export const deadDestination: DestinationSettings = destinationTo('dead', 'http://127.0.0.1:9/')
