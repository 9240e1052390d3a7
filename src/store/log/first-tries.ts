import type { LeaseEnd } from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'

/** Requests, by where they are stored. */
export interface FirstTries<End extends LeaseEnd> {
  /** First tries that succeeded, by their settlement. The rows of their deliveries store them. */
  readonly succeeded: ReadonlyMap<End, RequestRecord>
  /** The requests that have rows of their own. */
  readonly others: readonly RequestRecord[]
}

/**
 * Finds the first tries that succeeded among requests. Most deliveries need no other request, so most
 * requests need no row and no index entry.
 */
export function firstTriesOf<End extends LeaseEnd>(
  settlements: readonly End[],
  requests: readonly RequestRecord[],
): FirstTries<End> {
  const untried = new Map<number, End>()
  for (const settlement of settlements) {
    if (isFirstTry(settlement)) untried.set(settlement.delivery.id, settlement)
  }
  const succeeded = new Map<End, RequestRecord>()
  const others: RequestRecord[] = []
  for (const request of requests) {
    const settlement = untried.get(request.deliveryId)
    if (settlement === undefined || !hasSucceeded(request, settlement)) others.push(request)
    else {
      untried.delete(request.deliveryId)
      succeeded.set(settlement, request)
    }
  }
  return { succeeded, others }
}

function isFirstTry(settlement: LeaseEnd): boolean {
  const { kind, delivery } = settlement
  return kind === 'delivered' && delivery.lane === 'first' && settlement.attempts === 1
}

/**
 * Tells whether a request is a first try that succeeded. The row of a delivery does not store the fields that
 * all such requests share.
 */
function hasSucceeded(request: RequestRecord, { delivery }: LeaseEnd): boolean {
  const { destinationId, lane, attempt, outcome, error } = request
  return (
    destinationId === delivery.destinationId &&
    lane === 'first' &&
    attempt === 1 &&
    outcome === 'success' &&
    error === null
  )
}
