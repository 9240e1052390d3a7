import { z } from 'zod'
import type { ComputationClass, MemberIdentity, MembersRequest } from '../audience/index.ts'
import { isJsonObject, parseJson } from '../model/index.ts'
import type { AudienceSyncRequest } from './ports.ts'
import {
  accepts,
  fields,
  oneOf,
  pageLimit,
  read,
  refused,
  several,
  text,
  type Reading,
} from './read-fields.ts'

type MembersQuery = Omit<MembersRequest, 'key'>

/** The query parameters of a sync. */
export type SyncQuery = Omit<AudienceSyncRequest, 'listener' | 'drained' | 'signal'>

const classes: readonly ComputationClass[] = ['audience', 'trait']

/** Reads the query parameters for a page of members. */
export function readMembersQuery(query: unknown): Reading<MembersQuery> {
  return read(membersFields, query, ({ limit, after = null }) => ({
    kind: 'read',
    value: { limit, after },
  }))
}

/** Reads the query parameters of a sync. */
export function readSyncQuery(query: unknown): Reading<SyncQuery> {
  return read(syncFields, query, (written): Reading<SyncQuery> => {
    const { name, key, source, idColumn = [], valueColumn } = written
    if (name === undefined && key === undefined) {
      return refused('invalid_request', 'No audience is given: give a name or a key')
    }
    const columns = { userIds: idColumn, value: valueColumn }
    const isDryRun = written.dryRun !== undefined
    return {
      kind: 'read',
      value: { name, key, computationClass: written.class, sourceId: source, columns, isDryRun },
    }
  })
}

/** Reads the query parameters of a removal. */
export function readRemoveQuery(query: unknown): Reading<{ readonly isDryRun: boolean }> {
  return read(removeFields, query, (written) => ({
    kind: 'read',
    value: { isDryRun: written.dryRun !== undefined },
  }))
}

/** A query has only strings, so this is the string `true`. */
const dryRun = z.literal('true', accepts('true, or left out'))

/** Makes the cursor for the next page of members. */
export function formatCursor({ userId, anonymousId, email }: MemberIdentity): string {
  return Buffer.from(JSON.stringify({ userId, anonymousId, email })).toString('base64url')
}

const cursorForm = 'the "next" of a page'
const cursor = z.string(accepts(cursorForm)).transform((text, context): MemberIdentity => {
  const identity = parseCursor(text)
  if (identity !== undefined) return identity
  context.addIssue(cursorForm)
  return z.NEVER
})

const membersFields = fields({ limit: pageLimit, after: cursor.optional() })

const syncFields = fields({
  name: text.optional(),
  key: text.optional(),
  class: oneOf(classes).default('audience'),
  source: text.optional(),
  idColumn: several(text),
  valueColumn: text.optional(),
  dryRun: dryRun.optional(),
})

const removeFields = fields({ dryRun: dryRun.optional() })

/** The schemas of requests about audiences, for the API description. */
export const audienceSchemas: Readonly<Record<'members' | 'sync' | 'remove', z.ZodType>> = {
  members: membersFields,
  sync: syncFields,
  remove: removeFields,
}

function parseCursor(text: string): MemberIdentity | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString())
  if (!isJsonObject(value)) return undefined
  const { userId, anonymousId, email } = value
  if (!isTextOrNull(userId) || !isTextOrNull(anonymousId) || !isTextOrNull(email)) return undefined
  return { userId, anonymousId, email }
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
