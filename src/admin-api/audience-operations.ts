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
import { knownNames, notFound, pageOf, record, refuse, type Refusal } from './answer.ts'
import {
  formatCursor,
  membersReader,
  removeReader,
  syncReader,
  type SyncQuery,
} from './audience-requests.ts'
import {
  get,
  operation,
  post,
  type ApiOperation,
  type ApiRecord,
  type StreamingEnd,
  type StreamingInput,
} from './operation.ts'
import type { AdminApiOptions, AudienceRefusal, AudienceSyncOutcome } from './ports.ts'

const progressMs = 500

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
    reads: membersReader,
    run: async ({ limit, after }, { params }) => {
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
    reads: syncReader,
    stream: async (query, { upload, sendRecords, drained, signal }): Promise<StreamingEnd> => {
      const listener = listenerOf(query, sendRecords, runtime.clock)
      const outcome = await audiences.sync({ ...query, listener, drained, signal }, upload)
      return 'counts' in outcome
        ? { kind: 'sent', record: syncRecord(outcome, query) }
        : { kind: 'refused', refusal: refusalOf(outcome, query.sourceId) }
    },
  })
}

function removeOperation({ audiences, runtime }: AudienceOptions): ApiOperation {
  return operation({
    ...post('/audiences/{key}/remove', 'line', 'Removes an audience'),
    reads: removeReader,
    stream: async (query, { params, sendRecords, drained, signal }): Promise<StreamingEnd> => {
      const key = String(params['key'])
      const listener = listenerOf(query, sendRecords, runtime.clock)
      const outcome = await audiences.remove({ ...query, key, listener, drained, signal })
      return 'left' in outcome
        ? { kind: 'sent', record: removalRecord(outcome, query) }
        : { kind: 'refused', refusal: refusalOf(outcome) }
    },
  })
}

/** Reports rejected rows and progress to the client. A dry run also reports changes, which no destination gets. */
function listenerOf(
  { isDryRun }: Pick<SyncQuery, 'isDryRun'>,
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

function refusalOf(
  outcome: AudienceRefusal | Extract<AudienceSyncOutcome, { kind: 'taken' }>,
  sourceId?: string,
): Refusal {
  switch (outcome.kind) {
    case 'taken': {
      const { key, computationClass, sourceId: owner } = outcome.audience
      const what = computationClass === 'audience' ? 'an audience' : 'a computed trait'
      const message = `The key ${key} belongs to ${what} of the source ${owner}; give a different name or key`
      return refuse('audience_taken', message)
    }
    case 'running': {
      const message = `A sync or removal of the audience ${outcome.key} is already running; try again when it has ended`
      return refuse('sync_running', message)
    }
    case 'unknown_source':
      return sourceId === undefined && outcome.knownIds.length > 0
        ? refuse('not_found', `No source is given: ${knownNames(outcome.knownIds)}`)
        : notFound('source', outcome.knownIds)
    case 'unknown_audience':
      return notFound('audience', outcome.knownKeys)
    case 'unusable_name':
      return refuse('invalid_request', outcome.message)
  }
}
