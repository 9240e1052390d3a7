import type { LeasedDelivery } from '../../src/delivery/index.ts'
import type { Destination } from '../../src/model/index.ts'
import { checkDestination, type RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** The URL of an endpoint, by its letter. */
export function urlOf(letter: string): string {
  return `https://example.com/${letter}`
}

/** The URLs of that many endpoints: `a`, `b`, ... */
export function urlsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => urlOf(String.fromCharCode(97 + index)))
}

/** A destination with endpoints `a`, `b`, ... */
export function destinationOf(endpoints: number, concurrency = 10): Destination {
  return checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: urlsOf(endpoints).map((url) => ({ url })),
    concurrency,
  })
}

/** A delivery that was given out and never tried, but for what is said. */
export function leased(changes: Partial<LeasedDelivery> = {}): LeasedDelivery {
  return {
    id: 1,
    lease: 1,
    destinationId: 'crm',
    messageId: 'm_1',
    type: 'track',
    body: '{"type":"track"}',
    acceptedAtMs: startMs,
    lane: 'first',
    dueAtMs: startMs,
    attempts: 0,
    windowAttempts: 0,
    firstAttemptAtMs: null,
    holds: [],
    ...changes,
  }
}

/** An endpoint's answer without a body. */
export function answered(status: number, retryAfter?: string): RequestOutcome {
  return { kind: 'answered', status, retryAfter, excerpt: '' }
}

/** An address that nothing is sent to. */
export const addressRefused: RequestOutcome = {
  kind: 'address_refused',
  code: 'private_address',
  message: 'Cannot send to 10.0.0.5: it is a private address',
}

/** A certificate that is not trusted. */
export const certificateRefused: RequestOutcome = {
  kind: 'certificate_refused',
  code: 'CERT_HAS_EXPIRED',
  message: 'certificate has expired',
}
