import type { DeletionRequest } from '../../intake/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'

/** A parsed row of type `delete`. */
export type DeletionRow =
  ({ readonly kind: 'deletion' } & DeletionRequest) | ({ readonly kind: 'rejected' } & Rejection)

/** The answer of a service to a deletion: its tracking API accepts calls only. */
export const noDeletions: Extract<DeletionRow, { kind: 'rejected' }> = Object.freeze({
  kind: 'rejected',
  code: 'unknown_type',
  message: 'A tracking API takes no deletions',
})

/**
 * Parses the deletion request in a row. Deletions bypass the client and go directly to intake. As in calls, a
 * number is a valid id.
 */
export function readDeletion({ userId, timestamp, messageId }: JsonObject): DeletionRow {
  if (userId === undefined || userId === null || userId === '') {
    return { kind: 'rejected', code: 'no_user_id', message: 'delete needs a userId' }
  }
  if (typeof userId !== 'string' && typeof userId !== 'number') {
    return { kind: 'rejected', code: 'wrong_type', message: 'userId must be a string' }
  }
  return {
    kind: 'deletion',
    userId: String(userId),
    timestamp: typeof timestamp === 'string' ? timestamp : undefined,
    messageId: typeof messageId === 'string' && messageId !== '' ? messageId : undefined,
  }
}
