import {
  audienceRecord,
  changeRecord,
  comparingRecord,
  memberFields,
  progressRecord,
  rejectedRecord,
  removalRecord,
  syncRecord,
  type SyncListener,
} from '../audience/index.ts'
import type { Clock } from '../runtime/index.ts'
import { knownNames, notFound, record, refuse, type Refusal } from './answer.ts'
import {
  formatCursor,
  readMembersQuery,
  readRemoveQuery,
  readSyncQuery,
  type SyncQuery,
} from './audience-requests.ts'
import type {
  ApiOperation,
  ApiRecord,
  Operation,
  StreamingEnd,
  StreamingInput,
  StreamingOperation,
} from './operation.ts'
import type {
  AdminApiOptions,
  AudienceOperations,
  AudienceRefusal,
  AudienceRemoveOutcome,
  AudienceSyncOutcome,
} from './ports.ts'
import type { AudienceMembersRecord, AudiencesRecord } from './records.ts'

/** Minimum time between two progress records of a sync. */
const progressMs = 500

/** Returns the operations on audiences and computed traits: list, show, sync and remove. */
export function audienceOperations({
  audiences,
  runtime,
}: Pick<AdminApiOptions, 'audiences' | 'runtime'>): readonly ApiOperation[] {
  const { clock } = runtime
  return [
    { path: '/audiences', method: 'get', operation: listOperation(audiences) },
    { path: '/audiences/sync', method: 'post', streaming: syncOperation(audiences, clock) },
    { path: '/audiences/:key', method: 'get', operation: showOperation(audiences) },
    {
      path: '/audiences/:key/remove',
      method: 'post',
      streaming: removeOperation(audiences, clock),
    },
  ]
}

function listOperation(audiences: AudienceOperations): Operation {
  return async () => {
    const found = await audiences.list()
    return record({
      kind: 'audiences',
      audiences: found.map(audienceRecord),
    } satisfies AudiencesRecord)
  }
}

function showOperation(audiences: AudienceOperations): Operation {
  return async ({ params, query }) => {
    const reading = readMembersQuery(query)
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const key = String(params['key'])
    const known = await audiences.list()
    const audience = known.find((candidate) => candidate.key === key)
    if (audience === undefined) {
      const keys = known.map((each) => each.key)
      return refuse(notFound('audience', keys))
    }
    const { limit, after } = reading.value
    // One more member tells whether there is a next page.
    const members = await audiences.members({ key, limit: limit + 1, after })
    const page = members.slice(0, limit)
    const last = members.length > limit ? page.at(-1) : undefined
    return record({
      ...audienceRecord(audience),
      memberList: page.map(memberFields),
      next: last === undefined ? null : formatCursor(last.identity),
    } satisfies AudienceMembersRecord)
  }
}

function syncOperation(audiences: AudienceOperations, clock: Clock): StreamingOperation {
  return async ({ query, upload, sendRecords, drained, signal }) => {
    const reading = readSyncQuery(query)
    if (reading.kind === 'refused') return reading
    const listener = listenerOf(reading.value, sendRecords, clock)
    const request = { ...reading.value, listener, drained, signal }
    return endOfSync(await audiences.sync(request, upload), reading.value)
  }
}

function removeOperation(audiences: AudienceOperations, clock: Clock): StreamingOperation {
  return async ({ query, params, sendRecords, drained, signal }) => {
    const reading = readRemoveQuery(query)
    if (reading.kind === 'refused') return reading
    const { isDryRun } = reading.value
    const key = String(params['key'])
    const listener = listenerOf({ isDryRun }, sendRecords, clock)
    const request = { key, isDryRun, listener, drained, signal }
    return endOfRemoval(await audiences.remove(request), reading.value)
  }
}

/** Makes a listener that sends records. Changes are sent only in a dry run, because otherwise destinations get them. */
function listenerOf(
  { isDryRun }: Pick<SyncQuery, 'isDryRun'>,
  sendRecords: StreamingInput['sendRecords'],
  clock: Clock,
): SyncListener {
  let toldAtMs = clock.nowMs()
  const sendProgress = (record: ApiRecord): void => {
    const nowMs = clock.nowMs()
    // If the clock was set back, report now instead of waiting until the clock catches up.
    if (nowMs >= toldAtMs && nowMs - toldAtMs < progressMs) return
    toldAtMs = nowMs
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

function endOfSync(outcome: AudienceSyncOutcome, { sourceId, isDryRun }: SyncQuery): StreamingEnd {
  if ('counts' in outcome) return { kind: 'sent', record: syncRecord(outcome, { isDryRun }) }
  return { kind: 'refused', refusal: refusalOf(outcome, sourceId) }
}

function endOfRemoval(
  outcome: AudienceRemoveOutcome,
  { isDryRun }: Pick<SyncQuery, 'isDryRun'>,
): StreamingEnd {
  if ('left' in outcome) return { kind: 'sent', record: removalRecord(outcome, { isDryRun }) }
  return { kind: 'refused', refusal: refusalOf(outcome) }
}

function refusalOf(
  outcome: AudienceRefusal | Extract<AudienceSyncOutcome, { kind: 'taken' }>,
  sourceId?: string,
): Refusal {
  switch (outcome.kind) {
    case 'taken': {
      const { key, computationClass, sourceId: owner } = outcome.audience
      const what = computationClass === 'audience' ? 'an audience' : 'a computed trait'
      const message = `The key ${key} belongs to ${what} of the source ${owner}; give a different name or key`
      return { status: 409, code: 'audience_taken', message }
    }
    case 'running': {
      const message = `A sync or removal of the audience ${outcome.key} is already running; try again when it has ended`
      return { status: 409, code: 'sync_running', message }
    }
    case 'unknown_source':
      return sourceId === undefined && outcome.knownIds.length > 0
        ? {
            ...notFound('source', []),
            message: `No source is given: ${knownNames(outcome.knownIds)}`,
          }
        : notFound('source', outcome.knownIds)
    case 'unknown_audience':
      return notFound('audience', outcome.knownKeys)
    case 'unusable_name':
      return { status: 400, code: 'invalid_request', message: outcome.message }
  }
}
