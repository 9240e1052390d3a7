import type { RequestRecord } from '../../model/index.ts'
import { erasedReason } from '../erased-reason.ts'
import type { StoredDelivery } from './stored-delivery.ts'

/** Takes out of a delivery whom it is about; where it stands stays. */
export function eraseDelivery(delivery: StoredDelivery): void {
  const { id, end } = delivery
  if (namesUser(delivery)) delivery.messageId = `erased-${id}`
  delivery.userId = null
  delivery.previousId = null
  delivery.body = ''
  delivery.isErased = true
  const requests = delivery.requests.splice(0)
  for (const request of requests) keepRequest(delivery, request)
  const isKept = end === undefined || end.state === 'delivered'
  if (!isKept) delivery.end = { ...end, reason: erasedReason }
}

/** Tells whether the messageId of a delivery contains an id of the user. */
export function namesUser({ messageId, userId, previousId }: StoredDelivery): boolean {
  return [userId, previousId].some((id) => id !== null && messageId.includes(id))
}

/** Keeps what was sent for a delivery; of one that was erased not what was answered. */
export function keepRequest(delivery: StoredDelivery, request: RequestRecord): void {
  const { messageId, isErased } = delivery
  delivery.requests.push(isErased ? { ...request, messageId, excerpt: '' } : request)
}
