import { z } from 'zod'
import { parseDeliveryId, type DeliveryFilter, type LoggedState } from '../delivery/index.ts'
import { eventTypes, parseDuration, parseTimestamp } from '../model/index.ts'
import { refuse, type Answer } from './answer.ts'
import type { ReplayRequest } from './ports.ts'

/** What a request asks for, or why it cannot be understood. */
export type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value }
  | { readonly kind: 'refused'; readonly answer: Answer }

/** Which page of the deliveries is asked for. */
export interface ListRequest {
  /** The deliveries. */
  readonly filter: DeliveryFilter
  /** At the most so many. */
  readonly limit: number
  /** Only those after this one, which is the `next` of the page before. */
  readonly beforeId: number | undefined
}

/** Which deliveries are retried. */
export interface RetryRequest {
  /** The deliveries. */
  readonly filter: DeliveryFilter
  /** At the most so many. */
  readonly limit: number
}

/** Deliveries on one page at the most. */
export const pageDeliveriesMax = 500
const pageDeliveriesDefault = 50

const states: readonly LoggedState[] = ['pending', 'delivered', 'failed', 'expired']
const retriableStates: readonly LoggedState[] = ['pending', 'failed', 'expired']

/** Reads the query of a list. */
export function readListRequest(query: unknown, nowMs: number): Reading<ListRequest> {
  const schema = z.strictObject({
    ...filterFields(states, nowMs),
    limit: numeral(pageDeliveriesMax, 1).default(pageDeliveriesDefault),
    before: numeral(Number.MAX_SAFE_INTEGER, 0).optional(),
  })
  return read(schema, query, ({ limit, before, ...filter }): Reading<ListRequest> => {
    if (filter.id !== undefined && filter.destination !== undefined) {
      return refused('invalid_request', 'An id names its destination already')
    }
    return { kind: 'read', value: { filter: filterOf(filter), limit, beforeId: before } }
  })
}

/** Reads the body of a retry: exactly one of an id, conditions and `all`. */
export function readRetryRequest(body: unknown, nowMs: number): Reading<RetryRequest> {
  const schema = z.strictObject({
    ...filterFields(retriableStates, nowMs),
    all: z.literal(true).optional(),
    limit: z.int().min(1).optional(),
  })
  return read(schema, body, ({ limit = Infinity, all, ...filter }) =>
    selected({ all, id: filter.id, conditions: { ...filter, id: undefined } }, () => ({
      filter: filterOf(filter),
      limit,
    })),
  )
}

/** Reads the body of a replay: conditions, or `all`. */
export function readReplayRequest(body: unknown, nowMs: number): Reading<ReplayRequest> {
  const schema = z.strictObject({
    source: z.string().optional(),
    destination: z.string().optional(),
    type: several(z.enum(eventTypes)),
    event: several(z.string()),
    since: moment(nowMs),
    until: moment(nowMs),
    all: z.literal(true).optional(),
  })
  return read(schema, body, ({ all, ...conditions }) =>
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

/** What a filter is written as. */
interface WrittenFilter {
  readonly id?: { readonly destinationId: string; readonly id: number } | undefined
  readonly state?: readonly LoggedState[] | undefined
  readonly type?: DeliveryFilter['types']
  readonly user?: string | undefined
  readonly destination?: string | undefined
  readonly message?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

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

/** The names are those of the flags. */
function filterFields<State extends LoggedState>(among: readonly State[], nowMs: number) {
  return {
    id: deliveryId.optional(),
    state: several(z.enum(among)),
    type: several(z.enum(eventTypes)),
    user: z.string().optional(),
    destination: z.string().optional(),
    message: z.string().optional(),
    since: moment(nowMs),
    until: moment(nowMs),
  }
}

const deliveryId = z.string().transform((text, context) => {
  const key = parseDeliveryId(text)
  if (key !== undefined) return key
  context.addIssue('Expected <destination>/<number>')
  return z.NEVER
})

/** One value, or a list of them. */
function several<Value extends z.ZodType>(value: Value) {
  const listed = (given: unknown): unknown =>
    given === undefined || Array.isArray(given) ? given : [given]
  return z.preprocess(listed, z.array(value).min(1).optional())
}

/** A timestamp, or a time ago, as milliseconds since 1970. */
function moment(nowMs: number) {
  return z
    .string()
    .transform((text, context) => {
      const agoMs = parseDuration(text)
      const instantMs = agoMs === undefined ? parseTimestamp(text) : nowMs - agoMs
      if (instantMs !== undefined) return instantMs
      context.addIssue(
        'Expected a timestamp such as 2026-11-20T10:15:00Z, or a time ago such as 2h',
      )
      return z.NEVER
    })
    .optional()
}

/** A whole number as a query has it. */
function numeral(max: number, min: number) {
  const range = `Expected a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d{1,16}$/, range)
    .transform(Number)
    .pipe(z.number().min(min, range).max(max, range))
}

function read<Written, Value>(
  schema: z.ZodType<Written>,
  input: unknown,
  understand: (written: Written) => Reading<Value>,
): Reading<Value> {
  const result = schema.safeParse(input ?? {})
  if (result.success) return understand(result.data)
  const message = result.error.issues.map(issueText).join('; ')
  return refused('invalid_request', message)
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

/** Everything is selected by saying so, never by leaving out a condition. */
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
      return refused('invalid_request', 'An id, conditions and "all" do not go together')
  }
}

function refused(code: 'invalid_request' | 'nothing_selected', message: string): Reading<never> {
  return { kind: 'refused', answer: refuse({ status: 400, code, message }) }
}
