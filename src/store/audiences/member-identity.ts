import { createHash } from 'node:crypto'
import type { MemberIdentity } from '../../audience/index.ts'
import { fromStoredOrNull } from '../stored-text.ts'

/** The columns that say who a member is. */
export interface IdentityColumns {
  readonly user_id: string | null
  readonly anonymous_id: string | null
  readonly email: string | null
}

/** The identity that was stored. */
export function identityOf(columns: IdentityColumns): MemberIdentity {
  return {
    userId: fromStoredOrNull(columns.user_id),
    anonymousId: fromStoredOrNull(columns.anonymous_id),
    email: fromStoredOrNull(columns.email),
  }
}

/**
 * Stands for the user that a member is, by userId, or by anonymousId where there is none; in
 * hexadecimal digits, as the database is given it.
 */
export function userKey({ userId, anonymousId }: Omit<MemberIdentity, 'email'>): string {
  return digest(userId === null ? [null, anonymousId] : [userId])
}

/** Stands for a member among those of its user, in hexadecimal digits. */
export function memberKey({ userId, anonymousId, email }: MemberIdentity): string {
  return digest([userId, anonymousId, email])
}

/** Half of a SHA-256: nobody can make two that are the same, and an index of them is not large. */
function digest(identifiers: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(identifiers)).digest('hex').slice(0, 32)
}
