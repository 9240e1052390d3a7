import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  auditRecord,
  isoOrNull,
  loggedDeliveryRecord,
  parseDeliveryId,
  readableLog,
  shownEndpoint,
  storyRecord,
  type ChangeResult,
} from '../delivery/index.ts'
import type { SourceFields } from './answer-schemas.ts'
import { notFound, pageOf, record, refuse, type Answer } from './answer.ts'
import { audienceOperations } from './audience-operations.ts'
import { get, operation, post, type ApiOperation } from './operation.ts'
import type { AdminApiOptions, ReplayOutcome } from './ports.ts'
import { problemsOf } from './problems.ts'
import { pageRowsMax } from './read-fields.ts'
import { regulationOperations } from './regulation-operations.ts'
import {
  discardReader,
  listReader,
  replayReader,
  retryReader,
  revealReader,
  type Selection,
} from './requests.ts'

/** The operations under `/v1`, in the order of the API description. */
export function operations(options: AdminApiOptions): readonly ApiOperation[] {
  return [
    listOperation(options),
    storyOperation(options),
    changeOperation('retry', options),
    changeOperation('discard', options),
    destinationsOperation(options),
    switchOperation('enable', options),
    switchOperation('disable', options),
    testOperation(options),
    sourcesOperation(options),
    overviewOperation(options),
    ...ledgerOperations(options),
    replayOperation(options),
    ...audienceOperations(options),
    ...regulationOperations(options),
  ]
}

function listOperation({ store }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/deliveries', 'deliveries', 'A page of deliveries, the newest first'),
    reads: listReader,
    run: async ({ filter, limit, beforeId, reveal }) => {
      const found = await readableLog(store, reveal).list({ filter, limit: limit + 1, beforeId })
      const { rows, last } = pageOf(found, limit)
      return record({
        kind: 'deliveries',
        deliveries: rows.map(loggedDeliveryRecord),
        next: last?.id ?? null,
      })
    },
  })
}

const noDelivery = refuse('not_found', 'There is no such delivery')

function storyOperation({ store }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/deliveries/{destination}/{number}', 'story', 'A delivery with all its requests'),
    reads: revealReader,
    run: async (reveal, { params }) => {
      const id = `${String(params['destination'])}/${String(params['number'])}`
      const key = parseDeliveryId(id)
      const story = key && (await readableLog(store, reveal).story(key))
      return story === undefined ? noDelivery : record(storyRecord(story))
    },
  })
}

function changeOperation(kind: 'retry' | 'discard', options: AdminApiOptions): ApiOperation {
  const isRetry = kind === 'retry'
  return operation({
    ...post(
      `/deliveries/${kind}`,
      kind,
      isRetry ? 'Makes deliveries due immediately' : 'Ends pending deliveries as failed',
    ),
    reads: isRetry ? retryReader : discardReader,
    run: async (selection) => {
      const { filter } = selection
      const { deliveries, next } = await changeAll(kind, selection, options)
      const isUnknown = async () => (await options.store.list({ filter, limit: 1 })).length === 0
      // Conditions may match nothing, but an id names one delivery, which must exist.
      if (filter.id !== undefined && deliveries === 0 && (await isUnknown())) return noDelivery
      return record({ kind, deliveries, next })
    },
  })
}

async function changeAll(
  kind: 'retry' | 'discard',
  { filter, limit, after }: Selection,
  { store, wake, metrics, runtime }: AdminApiOptions,
): Promise<ChangeResult> {
  const nowMs = runtime.clock.nowMs()
  let total = 0
  let begin = after
  for (;;) {
    const pageLimit = Math.min(limit - total, pageRowsMax)
    const { deliveries, next } = await store[kind]({
      nowMs,
      filter,
      limit: pageLimit,
      after: begin,
    })
    if (kind === 'discard') metrics.discarded(deliveries)
    else if (deliveries > 0) wake()
    total += deliveries
    if (next === null || total === limit) return { deliveries: total, next }
    begin = next
    // Let other work on the store take its turn.
    await nextTurn()
  }
}

function destinationsOperation({ destinations }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/destinations', 'destinations', 'Endpoints, breakers, faults, counts'),
    reads: revealReader,
    run: async (reveal) => {
      const shown = (await destinations()).map((destination) => ({
        ...destination,
        endpoints: destination.endpoints.map((endpoint) => ({
          ...endpoint,
          url: shownEndpoint(endpoint.url, reveal),
        })),
      }))
      return record({ kind: 'destinations', destinations: shown })
    },
  })
}

const noDestination = refuse('not_found', 'There is no such destination')

function switchOperation(
  action: 'enable' | 'disable',
  { destinationActions }: AdminApiOptions,
): ApiOperation {
  return operation({
    ...post(
      `/destinations/{id}/${action}`,
      'destination',
      `${action === 'enable' ? 'Enables' : 'Disables'} a destination in this process`,
    ),
    run: (_, { params }) => {
      const id = String(params['id'])
      const enabled = action === 'enable'
      const isDone = destinationActions.setEnabled(id, enabled)
      return isDone ? record({ kind: 'destination', id, enabled }) : noDestination
    },
  })
}

function testOperation({ destinationActions }: AdminApiOptions): ApiOperation {
  return operation({
    ...post('/destinations/{id}/test', 'test', 'Delivers a sample track call'),
    run: async (_, { params }) => {
      const id = String(params['id'])
      const messageId = await destinationActions.sendTest(id)
      if (messageId === undefined) return noDestination
      if (messageId !== null) return record({ kind: 'test', id, messageId })
      const message = 'The destination is disabled: nothing is sent to it'
      return refuse('destination_disabled', message)
    },
  })
}

function sourcesOperation({ sources, metrics }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/sources', 'sources', 'Write keys, and counts of calls since this process started'),
    run: () => {
      const { url, sources: configured } = sources()
      const fields = configured.map((source): SourceFields => {
        const { latestRejected, ...counts } = metrics.sources.of(source.id)
        const calls = latestRejected.map(({ atMs, ...call }) => ({ at: isoOrNull(atMs), ...call }))
        return { ...source, ...counts, latestRejected: calls }
      })
      return record({ kind: 'sources', url, sources: fields })
    },
  })
}

function overviewOperation(options: AdminApiOptions): ApiOperation {
  const { ready, store, destinations, orphanedBacklogs, metrics } = options
  return operation({
    ...get('/overview', 'overview', 'The current problems, and counts of the last hour'),
    run: async () => {
      const [unreadyReasons, figures, states, backlogs] = await Promise.all([
        ready(),
        store.ledger(),
        destinations(),
        orphanedBacklogs(),
      ])
      const { recent, losses, breakers, oldestDueAtMs } = metrics
      const { deliveries, p50Ms, p99Ms } = recent.latency
      return record({
        kind: 'overview',
        problems: problemsOf({
          unreadyReasons,
          destinations: states,
          losses,
          breakers,
          orphanedBacklogs: backlogs,
        }),
        ledger: figures,
        oldestDueAt: isoOrNull(oldestDueAtMs),
        latency: { deliveries, p50: p50Ms, p99: p99Ms },
        minutes: recent.minutes.map(({ atMs, ...counts }) => ({ at: isoOrNull(atMs), ...counts })),
      })
    },
  })
}

function ledgerOperations({ store }: AdminApiOptions): readonly ApiOperation[] {
  return [
    operation({
      ...get('/ledger', 'ledger', 'The counts of events and deliveries'),
      run: async () => record({ kind: 'ledger', ...(await store.ledger()) }),
    }),
    operation({
      ...get('/audit', 'audit', 'Whether the counts balance'),
      run: async () => record(auditRecord(await store.audit())),
    }),
  ]
}

function replayOperation({ replay }: AdminApiOptions): ApiOperation {
  return operation({
    ...post('/replay', 'replay', 'Sends archived events again'),
    reads: replayReader,
    run: async (request, { signal }) => replayAnswer(await replay(request, signal)),
  })
}

function replayAnswer(outcome: ReplayOutcome): Answer {
  switch (outcome.kind) {
    case 'replayed': {
      const { events, deliveries, unreadable } = outcome
      return record({ kind: 'replay', events, deliveries, unreadable })
    }
    case 'ended': {
      const message = `The service is closing, so the replay ended early; events replayed: ${outcome.events}`
      return refuse('service_closing', message)
    }
    case 'deletion': {
      const message = `Users are being deleted from archives, so the replay ended early; events replayed: ${outcome.events}. Try again when the deletion has ended`
      return refuse('deletion_running', message)
    }
    case 'running':
      return refuse('replay_running', 'A replay is already running; try again when it has ended')
    case 'unknown':
      return notFound(outcome.field, outcome.knownIds)
    case 'no_archive':
      return refuse('no_archive', 'No selected source has an archive')
  }
}
