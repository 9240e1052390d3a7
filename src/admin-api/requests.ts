import { z } from 'zod'
import { parseDeliveryId, type DeliveryFilter, type LoggedState } from '../delivery/index.ts'
import { eventTypes, parseDuration, parseTimestamp, shortText } from '../model/index.ts'
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
  const schema = fields({
    ...filterFields(states, nowMs),
    limit: numeral(1, pageDeliveriesMax).default(pageDeliveriesDefault),
    before: numeral(0, Number.MAX_SAFE_INTEGER, 'the "next" of a page').optional(),
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
  const limit = accepts('a whole number from 1')
  const schema = fields({
    ...filterFields(retriableStates, nowMs),
    all: all.optional(),
    limit: z.int(limit).min(1, limit).optional(),
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
  const schema = fields({
    source: text.optional(),
    destination: text.optional(),
    type: several(oneOf(eventTypes)),
    event: several(text),
    since: moment(nowMs),
    until: moment(nowMs),
    all: all.optional(),
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

/** The message of every issue says what is accepted; {@link issueTexts} adds what was given. */
const accepts = (accepted: string) => ({ error: () => accepted })

/** An object that knows all its names. The message about an unknown one is the list of those. */
function fields<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'unrecognized_keys'
        ? Object.keys(shape).join(', ')
        : 'an object, such as {"type":"track"}',
  })
}

const text = z.string(accepts('one text'))
const all = z.literal(true, accepts('true, or left out'))

function oneOf<Name extends string>(names: readonly Name[]) {
  return z.enum(names, accepts(`one of ${names.join(', ')}`))
}

/** The names are those of the flags. */
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

/** One value, or a list of them. */
function several<Value extends z.ZodType>(value: Value) {
  const listed = (given: unknown): unknown =>
    given === undefined || Array.isArray(given) ? given : [given]
  const list = z.array(value).min(1, accepts('one value, or a list of at least one'))
  return z.preprocess(listed, list.optional())
}

/** A timestamp, or a time ago, as milliseconds since 1970. */
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

/** A whole number as a query has it. */
function numeral(min: number, max: number, accepted = `a whole number from ${min} to ${max}`) {
  const isAccepted = (text: string): boolean =>
    /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max
  return z.string(accepts(accepted)).refine(isAccepted, accepts(accepted)).transform(Number)
}

function read<Written, Value>(
  schema: z.ZodType<Written>,
  input: unknown,
  understand: (written: Written) => Reading<Value>,
): Reading<Value> {
  const result = schema.safeParse(input ?? {}, { reportInput: true })
  if (result.success) return understand(result.data)
  return refused('invalid_request', result.error.issues.flatMap(issueTexts).join('; '))
}

/** What cannot be used where, and what is accepted, in the form of the problems of a configuration. */
function issueTexts(issue: z.core.$ZodIssue): readonly string[] {
  const { message, input } = issue
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${shortText(key)}: Cannot use this name: the names here are ${message}`,
    )
  }
  // One value is read as a list of one, so an index would be of no help.
  const [name = 'the body'] = issue.path
  return [`${String(name)}: Cannot use ${shownValue(input)}: it is ${message}`]
}

function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return shortText(JSON.stringify(value))
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
