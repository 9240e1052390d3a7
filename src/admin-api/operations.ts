import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  auditRecord,
  isoOrNull,
  loggedDeliveryRecord,
  parseDeliveryId,
  readableLog,
  shownEndpoint,
  storyRecord,
} from '../delivery/index.ts'
import { notFound, record, refuse, unknownItem, type Answer } from './answer.ts'
import { audienceOperations } from './audience-operations.ts'
import type { ApiOperation, Operation } from './operation.ts'
import type { SourceCounts } from './metrics/source-activity.ts'
import type { AdminApiOptions, DestinationState, ReplayOutcome, SourceState } from './ports.ts'
import { problemsOf } from './problems.ts'
import { pageRowsMax } from './read-fields.ts'
import type {
  DeliveriesRecord,
  DestinationFields,
  DestinationsRecord,
  OverviewRecord,
  SourceFields,
  SourcesRecord,
} from './records.ts'
import { regulationOperations } from './regulation-operations.ts'
import {
  readDiscardRequest,
  readListRequest,
  readReplayRequest,
  readRetryRequest,
  readReveal,
  type Selection,
} from './requests.ts'

/** The operations under `/v1`. */
export function operations(options: AdminApiOptions): readonly ApiOperation[] {
  return [
    { path: '/deliveries', method: 'get', operation: listOperation(options) },
    { path: '/deliveries/retry', method: 'post', operation: changeOperation('retry', options) },
    { path: '/deliveries/discard', method: 'post', operation: changeOperation('discard', options) },
    { path: '/deliveries/:destination/:number', method: 'get', operation: storyOperation(options) },
    { path: '/destinations', method: 'get', operation: destinationsOperation(options) },
    { path: '/destinations/:id/enable', method: 'post', operation: switchOperation(options, true) },
    {
      path: '/destinations/:id/disable',
      method: 'post',
      operation: switchOperation(options, false),
    },
    { path: '/destinations/:id/test', method: 'post', operation: testOperation(options) },
    { path: '/sources', method: 'get', operation: sourcesOperation(options) },
    { path: '/overview', method: 'get', operation: overviewOperation(options) },
    { path: '/ledger', method: 'get', operation: ledgerOperation(options) },
    { path: '/audit', method: 'get', operation: auditOperation(options) },
    { path: '/replay', method: 'post', operation: replayOperation(options) },
    ...audienceOperations(options),
    ...regulationOperations(options),
  ]
}

function listOperation({ log, runtime }: AdminApiOptions): Operation {
  return async ({ query }) => {
    const reading = readListRequest(query, runtime.clock.nowMs())
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const { filter, limit, beforeId, reveal } = reading.value
    // One more delivery tells whether there is a next page.
    const found = await readableLog(log, reveal).list({ filter, limit: limit + 1, beforeId })
    const page = found.slice(0, limit)
    const next = found.length > limit ? (page.at(-1)?.id ?? null) : null
    const deliveries = page.map(loggedDeliveryRecord)
    return record({ kind: 'deliveries', deliveries, next } satisfies DeliveriesRecord)
  }
}

const noDelivery = unknownItem('delivery')

function storyOperation({ log }: AdminApiOptions): Operation {
  return async ({ params, query }) => {
    const reading = readReveal(query)
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const id = `${String(params['destination'])}/${String(params['number'])}`
    const key = parseDeliveryId(id)
    const story = key && (await readableLog(log, reading.value).story(key))
    return story === undefined ? noDelivery : record(storyRecord(story))
  }
}

function changeOperation(kind: 'retry' | 'discard', options: AdminApiOptions): Operation {
  const read = kind === 'retry' ? readRetryRequest : readDiscardRequest
  return async ({ body }) => {
    const reading = read(body, options.runtime.clock.nowMs())
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const { filter } = reading.value
    const deliveries = await changeAll(kind, reading.value, options)
    const isUnknown = async () => (await options.log.list({ filter, limit: 1 })).length === 0
    // Conditions may match nothing, but an id names one delivery, which must exist.
    if (filter.id !== undefined && deliveries === 0 && (await isUnknown())) return noDelivery
    return record({ kind, deliveries })
  }
}

async function changeAll(
  kind: 'retry' | 'discard',
  { filter, limit }: Selection,
  { log, metrics, runtime }: AdminApiOptions,
): Promise<number> {
  const nowMs = runtime.clock.nowMs()
  let total = 0
  for (;;) {
    const asked = Math.min(limit - total, pageRowsMax)
    const count = await log[kind]({ nowMs, filter, limit: asked })
    if (kind === 'discard') metrics.discarded(count)
    total += count
    if (count < asked || total === limit) return total
    // Let other work on the store take its turn.
    await nextTurn()
  }
}

function destinationsOperation({ destinations }: AdminApiOptions): Operation {
  return async ({ query }) => {
    const reading = readReveal(query)
    if (reading.kind === 'refused') return refuse(reading.refusal)
    const states = await destinations()
    const fields = states.map((state) => destinationFields(state, reading.value))
    return record({ kind: 'destinations', destinations: fields } satisfies DestinationsRecord)
  }
}

/** Copies field by field, so that a secret that is added to destinations later is not sent. */
function destinationFields(destination: DestinationState, reveal: boolean): DestinationFields {
  const { id, enabled, sourceIds, filter, endpoints, ledger } = destination
  const { deliveries, delivered, failed, expired, pending } = ledger
  return {
    id,
    enabled,
    sources: sourceIds,
    ...(filter === undefined ? {} : { filter }),
    endpoints: endpoints.map(({ url, breaker, probeAtMs, rate, faults }) => ({
      url: shownEndpoint(url, reveal),
      breaker,
      probeAt: isoOrNull(probeAtMs),
      ...(rate === undefined ? {} : { rate }),
      faults: faults.map(({ reason, failures, sinceMs, lastMs }) => ({
        reason,
        failures,
        since: isoOrNull(sinceMs),
        last: isoOrNull(lastMs),
      })),
    })),
    deliveries,
    delivered,
    failed,
    expired,
    pending,
  }
}

const noDestination = unknownItem('destination')

function switchOperation({ destinationActions }: AdminApiOptions, enabled: boolean): Operation {
  return ({ params }) => {
    const id = String(params['id'])
    const isDone = destinationActions.setEnabled(id, enabled)
    return Promise.resolve(isDone ? record({ kind: 'destination', id, enabled }) : noDestination)
  }
}

function testOperation({ destinationActions }: AdminApiOptions): Operation {
  return async ({ params }) => {
    const id = String(params['id'])
    const messageId = await destinationActions.sendTest(id)
    if (messageId === undefined) return noDestination
    if (messageId !== null) return record({ kind: 'test', id, messageId })
    const message = 'The destination is disabled: nothing is sent to it'
    return refuse({ status: 409, code: 'destination_disabled', message })
  }
}

function sourcesOperation({ sources, metrics }: AdminApiOptions): Operation {
  return () => {
    const { url, sources: configured } = sources()
    const fields = configured.map((source) => sourceFields(source, metrics.sources.of(source.id)))
    return Promise.resolve(
      record({ kind: 'sources', url, sources: fields } satisfies SourcesRecord),
    )
  }
}

function sourceFields(
  { id, enabled, writeKeys, destinationIds, isArchived }: SourceState,
  { accepted, rejected, latestRejected }: SourceCounts,
): SourceFields {
  return {
    id,
    enabled,
    writeKeys,
    destinations: destinationIds,
    archived: isArchived,
    accepted,
    rejected,
    latestRejected: latestRejected.map(({ atMs, ...call }) => ({ at: isoOrNull(atMs), ...call })),
  }
}

function overviewOperation({ ready, ledger, destinations, metrics }: AdminApiOptions): Operation {
  return async () => {
    const [reasons, figures, states] = await Promise.all([ready(), ledger(), destinations()])
    const { recent, oldestDueAtMs } = metrics
    const { deliveries, p50Ms, p99Ms } = recent.latency
    return record({
      kind: 'overview',
      problems: problemsOf(reasons, states),
      ledger: figures,
      oldestDueAt: isoOrNull(oldestDueAtMs),
      latency: { deliveries, p50: p50Ms, p99: p99Ms },
      minutes: recent.minutes.map(({ atMs, ...counts }) => ({ at: isoOrNull(atMs), ...counts })),
    } satisfies OverviewRecord)
  }
}

function ledgerOperation({ ledger }: AdminApiOptions): Operation {
  return async () => record({ kind: 'ledger', ...(await ledger()) })
}

function auditOperation({ log }: AdminApiOptions): Operation {
  return async () => record(auditRecord(await log.audit()))
}

function replayOperation({ replay, runtime }: AdminApiOptions): Operation {
  return async ({ body, signal }) => {
    const reading = readReplayRequest(body, runtime.clock.nowMs())
    if (reading.kind === 'refused') return refuse(reading.refusal)
    return replayAnswer(await replay(reading.value, signal))
  }
}

function replayAnswer(outcome: ReplayOutcome): Answer {
  switch (outcome.kind) {
    case 'replayed': {
      const { events, deliveries, unreadable } = outcome
      return record({ kind: 'replay', events, deliveries, unreadable })
    }
    case 'ended': {
      const message = `The service is closing: the replay ended after ${outcome.events} events`
      return refuse({ status: 503, code: 'service_closing', message })
    }
    case 'deletion': {
      const message = `Users are being deleted from archives: the replay ended after ${outcome.events} events; try again when the regulation has finished with archives`
      return refuse({ status: 409, code: 'deletion_running', message })
    }
    case 'running': {
      const message = 'A replay is already running; try again when it has ended'
      return refuse({ status: 409, code: 'replay_running', message })
    }
    case 'unknown':
      return refuse(notFound(outcome.field, outcome.knownIds))
    case 'no_archive': {
      const message = 'No selected source has an archive'
      return refuse({ status: 409, code: 'no_archive', message })
    }
  }
}
