import { z } from 'zod'
import {
  parseDeliveryId,
  type DeliveryFilter,
  type ListRequest,
  type LoggedState,
} from '../delivery/index.ts'
import { eventTypes, parseDuration, parseTimestamp } from '../model/index.ts'
import type { ReplayRequest } from './ports.ts'
import {
  accepts,
  fields,
  numeral,
  oneOf,
  pageLimit,
  read,
  refused,
  several,
  text,
  yes,
  type Reading,
} from './read-fields.ts'

/** A request for a page of deliveries. `reveal` shows the whole URLs of endpoints. */
type RevealingListRequest = ListRequest & { readonly reveal: boolean }

/** The deliveries to retry or discard. */
export type Selection = Pick<ListRequest, 'filter' | 'limit'>

const states: readonly LoggedState[] = ['pending', 'delivered', 'failed', 'expired']
const retriableStates: readonly LoggedState[] = ['pending', 'failed', 'expired']

const reveal = oneOf(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

const revealFields = fields({ reveal })

/** Reads the query parameters for a list of deliveries. */
export function readListRequest(query: unknown, nowMs: number): Reading<RevealingListRequest> {
  return read(
    listFields(nowMs),
    query,
    ({ limit, before, reveal, ...filter }): Reading<RevealingListRequest> => {
      if (filter.id !== undefined && filter.destination !== undefined) {
        return refused('invalid_request', 'Cannot combine id and destination: an id has both')
      }
      return { kind: 'read', value: { filter: filterOf(filter), limit, beforeId: before, reveal } }
    },
  )
}

function listFields(nowMs: number) {
  return fields({
    ...filterFields(states, nowMs),
    limit: pageLimit,
    before: numeral(0, Number.MAX_SAFE_INTEGER, 'the "next" of a page').optional(),
    reveal,
  })
}

/** Reads a query whose only parameter is `reveal`. */
export function readReveal(query: unknown): Reading<boolean> {
  return read(revealFields, query, ({ reveal }) => ({ kind: 'read', value: reveal }))
}

/** Reads the body of a retry: exactly one of an id, conditions and `all`. */
export function readRetryRequest(body: unknown, nowMs: number): Reading<Selection> {
  return readSelection(body, { selectable: retriableStates, nowMs })
}

/** Reads the body of a discard, which is like a retry for pending deliveries only. */
export function readDiscardRequest(body: unknown, nowMs: number): Reading<Selection> {
  return readSelection(body, { selectable: ['pending'], nowMs })
}

function readSelection(
  body: unknown,
  { selectable, nowMs }: { readonly selectable: readonly LoggedState[]; readonly nowMs: number },
): Reading<Selection> {
  return read(selectionFields(selectable, nowMs), body, ({ limit = Infinity, all, ...filter }) =>
    selected({ all, id: filter.id, conditions: { ...filter, id: undefined } }, () => ({
      filter: filterOf(filter),
      limit,
    })),
  )
}

function selectionFields(selectable: readonly LoggedState[], nowMs: number) {
  const limit = accepts('a whole number from 1')
  return fields({
    ...filterFields(selectable, nowMs),
    all: yes.optional(),
    limit: z.int(limit).min(1, limit).optional(),
  })
}

/** Reads the body of a replay: conditions, or `all`. */
export function readReplayRequest(body: unknown, nowMs: number): Reading<ReplayRequest> {
  return read(replayFields(nowMs), body, ({ all, ...conditions }) =>
    selected({ all, conditions }, () => ({
      sourceId: conditions.source,
      destinationId: conditions.destination,
      types: conditions.type,
      eventNames: conditions.event,
      sinceMs: conditions.since,
      untilMs: conditions.until,
    })),
  )
}

function replayFields(nowMs: number) {
  return fields({
    source: text.optional(),
    destination: text.optional(),
    type: several(oneOf(eventTypes)),
    event: several(text),
    since: moment(nowMs),
    until: moment(nowMs),
    all: yes.optional(),
  })
}

/** The schemas of requests about deliveries, for the API description. */
export const deliverySchemas: () => Readonly<
  Record<'list' | 'reveal' | 'retry' | 'discard' | 'replay', z.ZodType>
> = () => ({
  list: listFields(0),
  reveal: revealFields,
  retry: selectionFields(retriableStates, 0),
  discard: selectionFields(['pending'], 0),
  replay: replayFields(0),
})

/** A filter in the API's names, which are those of the command's flags. */
type WrittenFilter = Partial<z.output<z.ZodObject<ReturnType<typeof filterFields>>>>

function filterOf(written: WrittenFilter): DeliveryFilter {
  return {
    destinationId: written.destination,
    ...written.id,
    states: written.state,
    types: written.type,
    userId: written.user,
    messageId: written.message,
    sinceMs: written.since,
    untilMs: written.until,
  }
}

function filterFields<State extends LoggedState>(among: readonly State[], nowMs: number) {
  return {
    id: deliveryId.optional(),
    state: several(oneOf(among)),
    type: several(oneOf(eventTypes)),
    user: text.optional(),
    destination: text.optional(),
    message: text.optional(),
    since: moment(nowMs),
    until: moment(nowMs),
  }
}

const deliveryIdForm = 'a destination and a number, such as crm/17'
const deliveryId = z.string(accepts(deliveryIdForm)).transform((text, context) => {
  const key = parseDeliveryId(text)
  if (key !== undefined) return key
  context.addIssue(deliveryIdForm)
  return z.NEVER
})

/** Reads a timestamp, or a time ago, as milliseconds since 1970. */
function moment(nowMs: number) {
  const accepted = 'a timestamp such as 2026-11-20T10:15:00Z, or a time ago such as 2h'
  return z
    .string(accepts(accepted))
    .transform((text, context) => {
      const agoMs = parseDuration(text)
      const instantMs = agoMs === undefined ? parseTimestamp(text) : nowMs - agoMs
      if (instantMs !== undefined) return instantMs
      context.addIssue(accepted)
      return z.NEVER
    })
    .optional()
}

/** Requires exactly one of an id, conditions and `all`. An empty request must not select everything. */
function selected<Value>(
  given: { readonly all?: true | undefined; readonly id?: unknown; readonly conditions: object },
  value: () => Value,
): Reading<Value> {
  const hasConditions = Object.values(given.conditions).some((condition) => condition !== undefined)
  const ways = [given.all !== undefined, given.id !== undefined, hasConditions]
  switch (ways.filter(Boolean).length) {
    case 0:
      return refused('nothing_selected', 'Nothing is selected: give conditions, or "all": true')
    case 1:
      return { kind: 'read', value: value() }
    default:
      return refused(
        'invalid_request',
        'Cannot combine an id, conditions and "all": give only one of them',
      )
  }
}
