import type { NewEvent } from '../delivery/index.ts'

/** What knows whose calls are dropped. */
export interface SuppressedUsers {
  /** Tells whether the calls of a user are dropped that come from a source, or from a replay of it. */
  has(sourceId: string, userId: string): boolean
}

/** Tells whether an event is dropped because of whom it is about. */
export function isSuppressed(users: SuppressedUsers, event: NewEvent): boolean {
  const { sourceId, type, userId, previousId } = event
  if (type === 'delete') return false
  return [userId, previousId].some((id) => typeof id === 'string' && users.has(sourceId, id))
}
