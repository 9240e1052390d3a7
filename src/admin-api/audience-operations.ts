import { z } from 'zod'
import {
  audienceRecord,
  changeRecord,
  comparingRecord,
  memberFields,
  progressRecord,
  refusalText,
  rejectedRecord,
  removalRecord,
  syncRecord,
  type ComputationClass,
  type MemberIdentity,
  type SyncListener,
} from '../audience/index.ts'
import { isJsonObject, parseJson } from '../model/index.ts'
import type { Clock } from '../runtime/index.ts'
import { notFound, pageOf, record, refuse, type Refusal } from './answer.ts'
import {
  get,
  operation,
  post,
  type ApiOperation,
  type ApiRecord,
  type StreamingInput,
} from './operation.ts'
import type { AdminApiOptions } from './ports.ts'
import { accepts, fields, oneOf, pageLimit, parsed, several, text } from './read-fields.ts'

const progressMs = 500

const classes: readonly ComputationClass[] = ['audience', 'trait']

/** A query has only strings, so this is the string `true`. */
const dryRun = z.literal('true', accepts('true, or left out')).optional()

type AudienceOptions = Pick<AdminApiOptions, 'audiences' | 'runtime'>

/** Returns the operations on audiences and computed traits: list, sync, show and remove. */
export function audienceOperations(options: AudienceOptions): readonly ApiOperation[] {
  return [
    operation({
      ...get('/audiences', 'audiences', 'The audiences and computed traits'),
      run: async () => {
        const found = await options.audiences.list()
        return record({ kind: 'audiences', audiences: found.map(audienceRecord) })
      },
    }),
    syncOperation(options),
    showOperation(options),
    removeOperation(options),
  ]
}

function showOperation({ audiences }: AudienceOptions): ApiOperation {
  return operation({
    ...get('/audiences/{key}', 'members', 'An audience and a page of its members'),
    reads: fields({
      limit: pageLimit,
      after: parsed('the "next" of a page', parseCursor).optional(),
    }),
    run: async ({ limit, after = null }, { params }) => {
      const key = String(params['key'])
      const known = await audiences.list()
      const audience = known.find((candidate) => candidate.key === key)
      if (audience === undefined) {
        const keys = known.map((each) => each.key)
        return notFound('audience', keys)
      }
      const members = await audiences.members({ key, limit: limit + 1, after })
      const { rows, last } = pageOf(members, limit)
      return record({
        ...audienceRecord(audience),
        memberList: rows.map(memberFields),
        next: last === undefined ? null : formatCursor(last.identity),
      })
    },
  })
}

function syncOperation({ audiences, runtime }: AudienceOptions): ApiOperation {
  return operation({
    ...post('/audiences/sync', 'line', 'Replaces the members with those of a list'),
    reads: fields({
      name: text.optional(),
      key: text.optional(),
      class: oneOf(classes).default('audience'),
      source: text.optional(),
      idColumn: several(text),
      valueColumn: text.optional(),
      dryRun,
    }),
    stream: async (written, { upload, sendRecords, drained, signal }) => {
      const { name, key, class: computationClass, source: sourceId } = written
      if (name === undefined && key === undefined) {
        return refuse('invalid_request', 'No audience is given: give a name or a key')
      }
      const columns = { userIds: written.idColumn ?? [], value: written.valueColumn }
      const isDryRun = written.dryRun !== undefined
      const query = { name, key, computationClass, sourceId, columns, isDryRun }
      const listener = listenerOf(isDryRun, sendRecords, runtime.clock)
      const outcome = await audiences.sync({ ...query, listener, drained, signal }, upload)
      return 'counts' in outcome
        ? { record: syncRecord(outcome, query) }
        : refusalOf(outcome, sourceId)
    },
  })
}

function removeOperation({ audiences, runtime }: AudienceOptions): ApiOperation {
  return operation({
    ...post('/audiences/{key}/remove', 'line', 'Removes an audience'),
    reads: fields({ dryRun }),
    stream: async (written, { params, sendRecords, drained, signal }) => {
      const key = String(params['key'])
      const isDryRun = written.dryRun !== undefined
      const listener = listenerOf(isDryRun, sendRecords, runtime.clock)
      const outcome = await audiences.remove({ key, isDryRun, listener, drained, signal })
      return 'left' in outcome
        ? { record: removalRecord(outcome, { isDryRun }) }
        : refusalOf(outcome)
    },
  })
}

/** Reports rejected rows and progress to the client. A dry run also reports changes, which no destination gets. */
function listenerOf(
  isDryRun: boolean,
  sendRecords: StreamingInput['sendRecords'],
  clock: Clock,
): SyncListener {
  let sentAtMs = clock.nowMs()
  const sendProgress = (record: ApiRecord): void => {
    const nowMs = clock.nowMs()
    // If the clock was set back, report now instead of waiting until the clock catches up.
    if (nowMs >= sentAtMs && nowMs - sentAtMs < progressMs) return
    sentAtMs = nowMs
    sendRecords([record])
  }
  return {
    rejected: (row) => sendRecords([rejectedRecord(row)]),
    changed: (changes) => {
      if (isDryRun) sendRecords(changes.map(changeRecord))
    },
    comparing: (members) => sendProgress(comparingRecord(members)),
    progress: (counts) => sendProgress(progressRecord(counts)),
  }
}

const refusalCodes = {
  taken: 'audience_taken',
  running: 'sync_running',
  unknown_source: 'not_found',
  unknown_audience: 'not_found',
  unusable_name: 'invalid_request',
} as const

function refusalOf(outcome: Parameters<typeof refusalText>[0], source?: string): Refusal {
  return refuse(refusalCodes[outcome.kind], refusalText(outcome, { source }))
}

/** Makes the cursor of the page that begins after this member. */
function formatCursor({ userId, anonymousId, email }: MemberIdentity): string {
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
