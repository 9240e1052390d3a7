import type { DestinationSettings } from '../../../dist/webhook/index.js'
import { sampleSecret } from '../sample-webhook.ts'

/** A destination with one endpoint, fed by the source of its own name. */
export function destinationTo(id: string, url: string, concurrency?: number): DestinationSettings {
  return {
    id,
    sourceIds: [id],
    endpoints: [{ url }],
    sharedSecret: sampleSecret,
    ...(concurrency === undefined ? {} : { concurrency }),
  }
}

/** One that is down: nothing listens on the port for sockets that discard, so that its breaker opens at once. */
export const deadDestination: DestinationSettings = destinationTo('dead', 'http://127.0.0.1:9/')
