import type { Lease, LeaseEnd, SettleRequest, Settlement } from '../../delivery/index.ts'
import type { RequestRecord } from '../../model/index.ts'
import { firstTriesOf } from '../log/first-tries.ts'
import type { EndRequest } from '../sqlite/settling.ts'

/** A first try that succeeded, without the fields that all successful first tries share. */
interface FirstTry
  extends
    Pick<Lease, 'id' | 'destinationId' | 'lease' | 'acceptedAtMs'>,
    Pick<RequestRecord, 'messageId' | 'url' | 'atMs' | 'durationMs' | 'status' | 'excerpt'> {}

/**
 * A {@link SettleRequest} for the store's thread. Most webhooks succeed at the first try. A `FirstTry`
 * has less than half as many fields as its settlement and request, so cloning it takes a third of the time.
 */
export interface SettleMessage extends EndRequest<LeaseEnd> {
  /** First tries that succeeded. `settlements` and `requests` have the others. */
  readonly firstTries: readonly FirstTry[]
}

/** Writes a message, and returns the settlements in its order: those of first tries that succeeded come first. */
export function writeSettleMessage({ nowMs, settlements, requests }: SettleRequest): {
  readonly message: SettleMessage
  readonly inOrder: readonly Settlement[]
} {
  const { succeeded, others } = firstTriesOf(settlements, requests)
  const rest = settlements.filter((settlement) => !succeeded.has(settlement))
  const message = {
    nowMs,
    firstTries: Array.from(succeeded, ([{ delivery }, request]) => firstTryOf(delivery, request)),
    settlements: rest.map((each) => ({ ...each, delivery: leaseOf(each.delivery) })),
    requests: others,
  }
  return { message, inOrder: [...succeeded.keys(), ...rest] }
}

/** Reads the settlements and requests of a message. */
export function readSettleMessage(message: SettleMessage): EndRequest<LeaseEnd> {
  const { nowMs, firstTries } = message
  return {
    nowMs,
    settlements: [...firstTries.map(settlementOf), ...message.settlements],
    requests: [...firstTries.map(requestOf), ...message.requests],
  }
}

/** Copies the fields of {@link Lease} only: the message does not need the body of a leased delivery. */
function leaseOf({ id, destinationId, lease, lane, acceptedAtMs, attempts }: Lease): Lease {
  return { id, destinationId, lease, lane, acceptedAtMs, attempts }
}

function firstTryOf(
  { id, destinationId, lease, acceptedAtMs }: Lease,
  { messageId, url, atMs, durationMs, status, excerpt }: RequestRecord,
): FirstTry {
  return {
    id,
    destinationId,
    lease,
    acceptedAtMs,
    messageId,
    url,
    atMs,
    durationMs,
    status,
    excerpt,
  }
}

function settlementOf({ id, destinationId, lease, acceptedAtMs }: FirstTry): LeaseEnd {
  const delivery = leaseOf({ id, destinationId, lease, lane: 'first', acceptedAtMs, attempts: 0 })
  return { kind: 'delivered', delivery, attempts: 1 }
}

function requestOf(firstTry: FirstTry): RequestRecord {
  const { id, destinationId, messageId, url, atMs, durationMs, status, excerpt } = firstTry
  return {
    destinationId,
    deliveryId: id,
    messageId,
    url,
    lane: 'first',
    attempt: 1,
    atMs,
    outcome: 'success',
    status,
    error: null,
    durationMs,
    excerpt,
  }
}
