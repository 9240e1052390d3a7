import {
  endpointName,
  formatTimestamp,
  type RequestRecord,
  type SettledDelivery,
} from '../../model/index.ts'

/** A settled delivery, to a webhook or a service. */
export type EndedDelivery = Omit<SettledDelivery, 'acceptedAtMs'>

/** A request to an endpoint, as a record for programs. */
export function requestRecord(request: RequestRecord): Readonly<Record<string, unknown>> {
  const { messageId, url, attempt, outcome, status, error, durationMs, atMs } = request
  const at = formatTimestamp(atMs)
  return {
    kind: 'request',
    messageId,
    url: endpointName(url),
    attempt,
    outcome,
    status,
    error,
    ms: durationMs,
    at,
  }
}

/** A settled delivery, as a record for programs. */
export function deliveryRecord(delivery: EndedDelivery): Readonly<Record<string, unknown>> {
  const { messageId, type, destinationId, state, attempts, reason } = delivery
  return { kind: 'delivery', messageId, type, destination: destinationId, state, attempts, reason }
}
