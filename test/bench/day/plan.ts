import { sampleSecret } from '../sample-webhook.ts'

/** What a run is asked to do. */
export interface DayPlan {
  /** How long events come, in milliseconds; a row tells of a tenth of it. */
  readonly durationMs: number
  /** Events per second over all destinations. */
  readonly eventsPerSecond: number
}

/** How an endpoint answers. */
export type Kind = 'healthy' | 'slow' | 'refuses' | 'hangs' | 'fails'

/** How many processes serve. */
export const processes = 3
/** How many rows there are. */
export const rowsOfDay = 10
/** How many events are posted together. */
export const batchSize = 10

const destinations = 1_000
/** Every so many, one endpoint is dead: 30 of them, a third of each kind. */
const deadEvery = 33
const deadKinds = ['refuses', 'hangs', 'fails'] as const
/** And one is slow: 20 of them. */
const slowEvery = 50

/** The number of each destination, and how its endpoint answers. */
export const kinds: readonly Kind[] = Array.from({ length: destinations }, (_, index) => {
  const dead = Math.floor(index / deadEvery)
  if (index % deadEvery === 1 && dead < 30) return deadKinds[dead % deadKinds.length] ?? 'fails'
  return index % slowEvery === 0 ? 'slow' : 'healthy'
})

/** The write key of the source that feeds a destination. */
export function writeKeyOf(index: number): string {
  return `not-a-real-write-key-${index}`
}

/** The sources and destinations of every process. Nothing listens on the port for sockets that discard. */
export function configurationOf(origin: string): object {
  return {
    sources: kinds.map((_, index) => ({ id: `source-${index}`, writeKeys: [writeKeyOf(index)] })),
    destinations: kinds.map((kind, index) => ({
      id: `destination-${index}`,
      type: 'Webhooks',
      sources: [`source-${index}`],
      endpoints: [{ url: `${kind === 'refuses' ? 'http://127.0.0.1:9' : origin}/${kind}` }],
      sharedSecret: sampleSecret,
      retryFor,
    })),
    network: { allow: ['127.0.0.1'] },
    retention: { delivered: kept, failed: kept, untried: kept, messageIds: kept },
  }
}

/** The shortest that a store may keep: with a purge each minute, a row is gone after 2 minutes at most. */
const kept = '1m'
/** As long as untried deliveries wait, so that those of dead endpoints are gone as soon. */
const retryFor = '1m'
