import type { MemberIdentity } from '../../audience/index.ts'
import type { Dialect } from '../sql/index.ts'
import { fromStoredOrNull } from '../stored-text.ts'

/** The columns that identify a member. */
export interface IdentityColumns {
  readonly user_id: string | null
  readonly anonymous_id: string | null
  readonly email: string | null
}

/** Makes the identity of a row. */
export function identityOf(columns: IdentityColumns): MemberIdentity {
  return {
    userId: fromStoredOrNull(columns.user_id),
    anonymousId: fromStoredOrNull(columns.anonymous_id),
    email: fromStoredOrNull(columns.email),
  }
}

/** The keys that find a member. */
export type MemberKeys = {
  /** The key of the user. */
  readonly user_key: string
  /** The key of the member among those of its user. */
  readonly member_key: string
}

/** The keys of an identity. */
export function keysOf(identity: MemberIdentity, { keyOf }: Dialect): MemberKeys {
  return { user_key: keyOf(userText(identity)), member_key: keyOf(memberText(identity)) }
}

/** The key of a user. */
export function userKey(userId: string, { keyOf }: Dialect): string {
  return keyOf(userText({ userId, anonymousId: null }))
}

/** The text that identifies a user: the userId, or the anonymousId if there is none. */
export function userText({ userId, anonymousId }: Omit<MemberIdentity, 'email'>): string {
  return JSON.stringify(userId === null ? [null, anonymousId] : [userId])
}

/** The text that identifies a member. */
export function memberText({ userId, anonymousId, email }: MemberIdentity): string {
  return JSON.stringify([userId, anonymousId, email])
}
