import { z } from 'zod'
import {
  parseDeliveryId,
  type ChangeRequest,
  type DeliveryFilter,
  type ListRequest,
  type LoggedState,
} from '../delivery/index.ts'
import { eventTypes, parseDuration, parseTimestamp } from '../model/index.ts'
import { refuse, type Refusal } from './answer.ts'
import type { ReplayRequest } from './ports.ts'
import {
  accepts,
  fields,
  numeral,
  oneOf,
  pageLimit,
  parsed,
  requestReader,
  several,
  text,
  yes,
  type RequestReader,
} from './read-fields.ts'

/** The deliveries to retry or discard. */
export type Selection = Omit<ChangeRequest, 'nowMs'>

const reveal = oneOf(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true')

const deliveryId = parsed('a destination and a number, such as crm/17', parseDeliveryId)

/** Returns a time in milliseconds since 1970. A string such as `2h` means two hours before `nowMs`. */
type Moment = (nowMs: number) => number

const moment = parsed(
  'a timestamp such as 2026-11-20T10:15:00Z, or a duration before now, such as 2h',
  (text): Moment | undefined => {
    const agoMs = parseDuration(text)
    if (agoMs !== undefined) return (nowMs) => nowMs - agoMs
    const instantMs = parseTimestamp(text)
    return instantMs === undefined ? undefined : () => instantMs
  },
)

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

/** Reads the query for a list of deliveries. `reveal` shows the whole URLs of endpoints. */
export const listReader: RequestReader<ListRequest & { readonly reveal: boolean }> = requestReader(
  fields({
    ...filterFields(['pending', 'delivered', 'failed', 'expired']),
    limit: pageLimit,
    before: numeral(0, Number.MAX_SAFE_INTEGER, 'the "next" of a page').optional(),
    reveal,
  }),
  ({ limit, before, reveal, ...filter }, nowMs) => ({
    filter: filterOf(filter, nowMs),
    limit,
    beforeId: before,
    reveal,
  }),
  ({ id, destination }) =>
    id === undefined || destination === undefined
      ? undefined
      : refuse(
          'invalid_request',
          'Cannot combine id and destination: the id already names its destination',
        ),
)

/** Reads a query whose only parameter is `reveal`. */
export const revealReader: RequestReader<boolean> = requestReader(
  fields({ reveal }),
  ({ reveal }) => reveal,
)

/** Reads the body of a retry: exactly one of an id, conditions and `all`. */
export const retryReader: RequestReader<Selection> = selectionReader([
  'pending',
  'failed',
  'expired',
])

/** Reads the body of a discard, like {@link retryReader}. The only state that it accepts is `pending`. */
export const discardReader: RequestReader<Selection> = selectionReader(['pending'])

function selectionReader(states: readonly LoggedState[]): RequestReader<Selection> {
  const accepted = accepts('a whole number, 1 or more')
  const number = z.int(accepts('a whole number'))
  return requestReader(
    fields({
      ...filterFields(states),
      all: yes.optional(),
      limit: z.int(accepted).min(1, accepted).optional(),
      after: z.strictObject({ range: number, destinationId: z.string(), atMs: number }).optional(),
    }),
    ({ limit = Infinity, after, ...filter }, nowMs) => ({
      filter: filterOf(filter, nowMs),
      limit,
      after,
    }),
    selectionRefusal,
  )
}

/** Reads the body of a replay: conditions, or `all`. */
export const replayReader: RequestReader<ReplayRequest> = requestReader(
  fields({
    source: text.optional(),
    destination: text.optional(),
    type: several(oneOf(eventTypes)),
    event: several(text),
    since: moment.optional(),
    until: moment.optional(),
    all: yes.optional(),
  }),
  ({ source, destination, type, event, since, until }, nowMs) => ({
    sourceId: source,
    destinationId: destination,
    types: type,
    eventNames: event,
    sinceMs: since?.(nowMs),
    untilMs: until?.(nowMs),
  }),
  selectionRefusal,
)

/** Requires exactly one of an id, conditions and `all`. An empty request must not select everything. */
function selectionRefusal(given: Readonly<Record<string, unknown>>): Refusal | undefined {
  const { all, id } = given
  const conditions: typeof given = {
    ...given,
    all: undefined,
    id: undefined,
    limit: undefined,
    after: undefined,
  }
  const hasConditions = Object.values(conditions).some((condition) => condition !== undefined)
  const ways = [all !== undefined, id !== undefined, hasConditions]
  switch (ways.filter(Boolean).length) {
    case 0:
      return refuse('nothing_selected', 'Nothing is selected: give conditions, or "all": true')
    case 1:
      return undefined
    default:
      return refuse(
        'invalid_request',
        'Cannot combine an id, conditions and "all": give only one of them',
      )
  }
}
