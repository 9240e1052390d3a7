import type { MemberIdentity } from '../../audience/index.ts'
import { fromStored, toStored } from './stored-text.ts'

const absent = ''

/** Stands for an empty text, which `''` cannot; no stored text is this mark and nothing else. */
const empty = '\u001a'

/** The columns that identify a member of an audience. */
export interface IdentityColumns {
  readonly user_id: string
  readonly anonymous_id: string
  readonly email: string
}

/** What stands in the column of an identifier. */
export function storedIdentifier(text: string | null): string {
  if (text === null) return absent
  return text === '' ? empty : toStored(text)
}

/** What stands in the columns of an identity, in the order of their key. */
export function storedIdentity(identity: MemberIdentity): readonly [string, string, string] {
  const { userId, anonymousId, email } = identity
  return [storedIdentifier(userId), storedIdentifier(anonymousId), storedIdentifier(email)]
}

/** The identity that was stored. */
export function identityOf(columns: IdentityColumns): MemberIdentity {
  return {
    userId: identifierOf(columns.user_id),
    anonymousId: identifierOf(columns.anonymous_id),
    email: identifierOf(columns.email),
  }
}

function identifierOf(stored: string): string | null {
  if (stored === absent) return null
  return stored === empty ? '' : fromStored(stored)
}
