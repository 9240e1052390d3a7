import type { LeasedDelivery } from '../../src/delivery/index.ts'
import type { Destination } from '../../src/model/index.ts'
import { checkDestination, type RequestOutcome } from '../../src/webhook/index.ts'
import { startMs } from '../support/recording-runtime.ts'

/** Returns the URL of an endpoint, such as `a`. */
export function urlOf(letter: string): string {
  return `https://example.com/${letter}`
}

/** Returns the URLs of the endpoints `a`, `b` and so on. */
export function urlsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => urlOf(String.fromCharCode(97 + index)))
}

/** Makes the destination `crm` with the endpoints `a`, `b` and so on. */
export function destinationOf(endpoints: number, concurrency = 10): Destination {
  return checkDestination({
    id: 'crm',
    sourceIds: ['website'],
    endpoints: urlsOf(endpoints).map((url) => ({ url })),
    concurrency,
  })
}

/** Makes a leased delivery, by default one that was never tried. */
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

/** Makes the outcome of an answer without a body. */
export function answered(status: number, retryAfter?: string): RequestOutcome {
  return { kind: 'answered', status, retryAfter, excerpt: '' }
}

/** The outcome if the address of the endpoint is not allowed. */
export const addressRefused: RequestOutcome = {
  kind: 'address_refused',
  code: 'private_address',
  message: 'Cannot send to 10.0.0.5: it is a private address',
}

/** The outcome if the certificate of the endpoint has expired. */
export const certificateRefused: RequestOutcome = {
  kind: 'certificate_refused',
  code: 'CERT_HAS_EXPIRED',
  message: 'certificate has expired',
}
