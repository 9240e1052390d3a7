import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import {
  loggedDeliveryRecord,
  parseDeliveryId,
  readableLog,
  storyRecord,
  type ChangeRequest,
  type ChangeResult,
  type DeliveryFilter,
  type LoggedState,
} from '../delivery/index.ts'
import { eventTypes } from '../model/index.ts'
import { pageOf, record, refuse } from './answer.ts'
import { get, operation, post, type ApiOperation } from './operation.ts'
import type { AdminApiOptions } from './ports.ts'
import {
  accepts,
  fields,
  moment,
  numeral,
  oneOf,
  pageLimit,
  pageRowsMax,
  parsed,
  reveal,
  selectionRefusal,
  several,
  text,
  yes,
} from './read-fields.ts'

/** Returns the operations that list, show, retry and discard deliveries. */
export function deliveryOperations(options: AdminApiOptions): readonly ApiOperation[] {
  return [
    listOperation(options),
    storyOperation(options),
    changeOperation('retry', options),
    changeOperation('discard', options),
  ]
}

const deliveryId = parsed('a destination and a number, such as crm/17', parseDeliveryId)

function filterFields(states: readonly LoggedState[]) {
  return {
    id: deliveryId.optional(),
    state: several(oneOf(states)),
    type: several(oneOf(eventTypes)),
    user: text.optional(),
    destination: text.optional(),
    message: text.optional(),
    since: moment.optional(),
    until: moment.optional(),
  }
}

type WrittenFilter = Partial<z.output<z.ZodObject<ReturnType<typeof filterFields>>>>

function filterOf(written: WrittenFilter, nowMs: number): DeliveryFilter {
  return {
    destinationId: written.destination,
    ...written.id,
    states: written.state,
    types: written.type,
    userId: written.user,
    messageId: written.message,
    sinceMs: written.since?.(nowMs),
    untilMs: written.until?.(nowMs),
  }
}

function listOperation({ store, runtime }: AdminApiOptions): ApiOperation {
  return operation({
    ...get('/deliveries', 'deliveries', 'A page of deliveries, the newest first'),
    reads: fields({
      ...filterFields(['pending', 'delivered', 'failed', 'expired']),
      limit: pageLimit,
      before: numeral(0, Number.MAX_SAFE_INTEGER, 'the "next" of a page').optional(),
      reveal,
    }),
    run: async ({ limit, before: beforeId, reveal, ...written }) => {
      if (written.id !== undefined && written.destination !== undefined) {
        const message = 'Cannot combine id and destination: the id already names its destination'
        return refuse('invalid_request', message)
      }
      const filter = filterOf(written, runtime.clock.nowMs())
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
    reads: fields({ reveal }),
    run: async ({ reveal }, { params }) => {
      const id = `${String(params['destination'])}/${String(params['number'])}`
      const key = parseDeliveryId(id)
      const story = key && (await readableLog(store, reveal).story(key))
      return story === undefined ? noDelivery : record(storyRecord(story))
    },
  })
}

const limitForm = accepts('a whole number, 1 or more')
const number = z.int(accepts('a whole number'))

function changeOperation(kind: 'retry' | 'discard', options: AdminApiOptions): ApiOperation {
  const isRetry = kind === 'retry'
  return operation({
    ...post(
      `/deliveries/${kind}`,
      kind,
      isRetry ? 'Makes deliveries due immediately' : 'Ends pending deliveries as failed',
    ),
    reads: fields({
      ...filterFields(isRetry ? ['pending', 'failed', 'expired'] : ['pending']),
      all: yes.optional(),
      limit: z.int(limitForm).min(1, limitForm).optional(),
      after: z.strictObject({ range: number, destinationId: z.string(), atMs: number }).optional(),
    }),
    run: async ({ limit = Infinity, after, ...written }) => {
      const refusal = selectionRefusal(written)
      if (refusal !== undefined) return refusal
      const nowMs = options.runtime.clock.nowMs()
      const filter = filterOf(written, nowMs)
      const { deliveries, next } = await changeAll(kind, { nowMs, filter, limit, after }, options)
      const isUnknown = async () => (await options.store.list({ filter, limit: 1 })).length === 0
      // Conditions may match nothing, but an id names one delivery, which must exist.
      if (filter.id !== undefined && deliveries === 0 && (await isUnknown())) return noDelivery
      return record({ kind, deliveries, next })
    },
  })
}

async function changeAll(
  kind: 'retry' | 'discard',
  { nowMs, filter, limit, after }: ChangeRequest,
  { store, wake, metrics }: AdminApiOptions,
): Promise<ChangeResult> {
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
