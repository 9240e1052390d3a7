import { z } from 'zod'
import type { ComputationClass, MemberIdentity, MembersRequest } from '../audience/index.ts'
import { isJsonObject, parseJson } from '../model/index.ts'
import { refuse } from './answer.ts'
import type { AudienceSyncRequest } from './ports.ts'
import {
  accepts,
  fields,
  oneOf,
  pageLimit,
  parsed,
  requestReader,
  several,
  text,
  type RequestReader,
} from './read-fields.ts'

/** The query parameters of a sync. The body is the list of members. */
export type SyncQuery = Omit<AudienceSyncRequest, 'listener' | 'drained' | 'signal'>

const classes: readonly ComputationClass[] = ['audience', 'trait']

/** A query has only strings, so this is the string `true`. */
const dryRun = z.literal('true', accepts('true, or left out')).optional()

/** Reads the query for a page of members. Without `after`, it is the first page. */
export const membersReader: RequestReader<Omit<MembersRequest, 'key'>> = requestReader(
  fields({ limit: pageLimit, after: parsed('the "next" of a page', parseCursor).optional() }),
  ({ limit, after = null }) => ({ limit, after }),
)

/** Reads the query for a sync, which needs a name or a key. */
export const syncReader: RequestReader<SyncQuery> = requestReader(
  fields({
    name: text.optional(),
    key: text.optional(),
    class: oneOf(classes).default('audience'),
    source: text.optional(),
    idColumn: several(text),
    valueColumn: text.optional(),
    dryRun,
  }),
  (written) => ({
    name: written.name,
    key: written.key,
    computationClass: written.class,
    sourceId: written.source,
    columns: { userIds: written.idColumn ?? [], value: written.valueColumn },
    isDryRun: written.dryRun !== undefined,
  }),
  ({ name, key }) =>
    name === undefined && key === undefined
      ? refuse('invalid_request', 'No audience is given: give a name or a key')
      : undefined,
)

/** Reads the query for a removal. The path contains the key. */
export const removeReader: RequestReader<Pick<SyncQuery, 'isDryRun'>> = requestReader(
  fields({ dryRun }),
  (written) => ({ isDryRun: written.dryRun !== undefined }),
)

/** Makes the cursor of the page that begins after this member. */
export function formatCursor({ userId, anonymousId, email }: MemberIdentity): string {
  return Buffer.from(JSON.stringify({ userId, anonymousId, email })).toString('base64url')
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
