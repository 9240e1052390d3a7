import { auditRecord, isoOrNull, shownEndpoint } from '../delivery/index.ts'
import { eventTypes } from '../model/index.ts'
import type { SourceFields } from './answer-schemas.ts'
import { notFound, record, refuse, type Answer } from './answer.ts'
import { audienceOperations } from './audience-operations.ts'
import { deliveryOperations } from './delivery-operations.ts'
import { get, operation, post, type ApiOperation } from './operation.ts'
import type { AdminApiOptions, ReplayOutcome } from './ports.ts'
import { currentLosses, problemsOf } from './problems.ts'
import {
  fields,
  moment,
  oneOf,
  reveal,
  selectionRefusal,
  several,
  text,
  yes,
} from './read-fields.ts'
import { regulationOperations } from './regulation-operations.ts'

/** The operations under `/v1`, in the order of the API description. */
export function operations(options: AdminApiOptions): readonly ApiOperation[] {
  return [
    ...deliveryOperations(options),
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

function destinationsOperation({ destinations }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/destinations', 'destinations', 'Endpoints, breakers, faults, counts'),
    reads: fields({ reveal }),
    run: async ({ reveal }) => {
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
  const { ready, store, metrics } = options
  return operation({
    ...get('/overview', 'overview', 'The current problems, and counts of the last hour'),
    run: async () => {
      const [unreadyReasons, ledger, destinations, orphanedBacklogs] = await Promise.all([
        ready(),
        store.ledger(),
        options.destinations(),
        options.orphanedBacklogs(),
      ])
      const { recent, breakers, oldestDueAtMs } = metrics
      const ids = destinations.map(({ id }) => id)
      const losses = await currentLosses(ids, { store, losses: metrics.losses })
      const { deliveries, p50Ms, p99Ms } = recent.latency
      return record({
        kind: 'overview',
        problems: problemsOf({
          unreadyReasons,
          isReloadRefused: metrics.isReloadRefused,
          destinations,
          isDisabledByHand: options.isDisabledByHand,
          losses,
          breakers,
          orphanedBacklogs,
        }),
        ledger,
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

function replayOperation({ replay, runtime }: AdminApiOptions): ApiOperation {
  return operation({
    ...post('/replay', 'replay', 'Sends archived events again'),
    reads: fields({
      source: text.optional(),
      destination: text.optional(),
      type: several(oneOf(eventTypes)),
      event: several(text),
      since: moment.optional(),
      until: moment.optional(),
      all: yes.optional(),
    }),
    run: async (written, { signal }) => {
      const refusal = selectionRefusal(written)
      if (refusal !== undefined) return refusal
      const nowMs = runtime.clock.nowMs()
      const request = {
        sourceId: written.source,
        destinationId: written.destination,
        types: written.type,
        eventNames: written.event,
        sinceMs: written.since?.(nowMs),
        untilMs: written.until?.(nowMs),
      }
      return replayAnswer(await replay(request, signal))
    },
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
