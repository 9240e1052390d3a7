import type { DeletionRequest } from '../../intake/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'

/** A row of type `delete`, read. */
export type DeletionRow =
  ({ readonly kind: 'deletion' } & DeletionRequest) | ({ readonly kind: 'rejected' } & Rejection)

/** What a service says to a deletion: its tracking API takes calls only. */
export const noDeletions: Extract<DeletionRow, { kind: 'rejected' }> = Object.freeze({
  kind: 'rejected',
  code: 'unknown_type',
  message: 'A tracking API takes no deletions',
})

/**
 * Reads the deletion request of a row; such rows enter at intake, behind the client. A number serves
 * as an id, as it does in calls.
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
