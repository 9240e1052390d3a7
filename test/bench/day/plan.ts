import { sampleSecret } from '../sample-webhook.ts'

/** The length and the rate of a run. */
export interface DayPlan {
  /** How long events are posted, in milliseconds; each row covers a tenth of it. */
  readonly durationMs: number
  /** Events per second over all destinations. */
  readonly eventsPerSecond: number
}

/** How an endpoint answers. */
export type Kind = 'healthy' | 'slow' | 'refuses' | 'hangs' | 'fails'

/** Services that share the database. */
export const processes = 3
/** Rows of the report. */
export const rowsOfDay = 10
/** Events per request. */
export const batchSize = 10

const destinations = 1_000
/** One in 33 endpoints is dead: 30 in total, 10 of each kind. */
const deadEvery = 33
const deadKinds = ['refuses', 'hangs', 'fails'] as const
/** One in 50 is slow, unless it is dead: 19 in total. */
const slowEvery = 50

/** How the endpoint of each destination answers, by the destination's number. */
export const kinds: readonly Kind[] = Array.from({ length: destinations }, (_, index) => {
  const dead = Math.floor(index / deadEvery)
  if (index % deadEvery === 1 && dead < 30) return deadKinds[dead % deadKinds.length] ?? 'fails'
  return index % slowEvery === 0 ? 'slow' : 'healthy'
})

/** The write key of a destination's source. */
export function writeKeyOf(index: number): string {
  return `not-a-real-write-key-${index}`
}

/** The configuration that all services share. Nothing listens on port 9 (discard). */
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

/** The shortest retention; with a purge every minute, a row is gone after at most 2 minutes. */
const kept = '1m'
/** As long as untried deliveries are kept, so that deliveries to dead endpoints expire just as soon. */
const retryFor = '1m'
