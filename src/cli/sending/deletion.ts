import type { DeletionRequest } from '../../intake/index.ts'
import type { JsonObject, Rejection } from '../../model/index.ts'

/** A row of type `delete`, read. */
export type DeletionRow =
  ({ readonly kind: 'deletion' } & DeletionRequest) | ({ readonly kind: 'rejected' } & Rejection)

/** Reads the deletion request of a row; such rows enter at intake, behind the client. */
export function readDeletion({ userId, timestamp }: JsonObject): DeletionRow {
  if (typeof userId !== 'string' || userId === '') {
    return { kind: 'rejected', code: 'no_user_id', message: 'delete needs a userId' }
  }
  return {
    kind: 'deletion',
    userId,
    timestamp: typeof timestamp === 'string' ? timestamp : undefined,
  }
}
