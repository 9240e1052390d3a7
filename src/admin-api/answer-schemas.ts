import { z } from 'zod'
import { eventTypes, regulationTypes } from '../model/index.ts'
import { breakerStates } from './metrics/breaker-board.ts'

const text = z.string()
const textOrNull = text.nullable()
const count = z.int()
const time = z.iso.datetime()
const moment = time.nullable()

function counts<Name extends string>(...names: readonly Name[]) {
  return z.object(Object.fromEntries(names.map((name) => [name, count])) as Record<Name, z.ZodInt>)
}

const ended = ['delivered', 'failed', 'expired'] as const
const ledger = counts(
  ...(['accepted', 'routed', 'filtered', 'duplicate', 'suppressed', 'deliveries'] as const),
  ...ended,
  'pending',
)

const lane = z.enum(['first', 'retry', 'manual'])

const delivery = z.object({
  id: text,
  messageId: text,
  type: z.enum(eventTypes),
  eventName: textOrNull,
  userId: textOrNull,
  source: text,
  destination: text,
  state: z.enum(['pending', ...ended]),
  lane,
  attempts: count,
  windowAttempts: count,
  manualRetries: count,
  reason: textOrNull,
  acceptedAt: time,
  firstAttemptAt: moment,
  dueAt: moment,
  expiresAt: moment,
  settledAt: moment,
  holds: z.array(z.object({ url: text, until: moment })),
})

const request = z.object({
  url: text,
  lane,
  attempt: count,
  outcome: z.enum(['success', 'retry', 'final']),
  status: count.nullable(),
  error: textOrNull,
  ms: z.number(),
  at: time,
  excerpt: text,
})

const endpoint = z.object({
  url: text,
  breaker: z.enum(breakerStates),
  probeAt: moment,
  rate: text.optional(),
  faults: z.array(z.object({ reason: text, failures: count, since: moment, last: moment })),
})

const destination = z.object({
  id: text,
  enabled: z.boolean(),
  sources: z.array(text),
  filter: text.optional(),
  endpoints: z.array(endpoint),
  ...counts('deliveries', ...ended, 'pending').shape,
})

const source = z.object({
  id: text,
  enabled: z.boolean(),
  writeKeys: z.array(text),
  destinations: z.array(text),
  archived: z.boolean(),
  accepted: counts('routed', 'filtered', 'duplicate', 'suppressed'),
  rejected: z.record(text, count),
  latestRejected: z.array(
    z.object({ at: moment, messageId: textOrNull, code: text, message: text }),
  ),
})

/** A current problem of the service. Its text and its advice are sentences. */
const problem = z.object({
  text,
  advice: text,
  /** The destination with the problem; null for the service as a whole. */
  destination: textOrNull,
  /** When the problem began, or when the endpoint is probed next; null if unknown. */
  moment: z.object({ name: z.enum(['Since', 'Next probe']), at: text }).nullable(),
})

const audience = z.object({
  key: text,
  name: text,
  class: z.enum(['audience', 'trait']),
  computationId: text,
  source: text,
  members: count,
  createdAt: moment,
  syncedAt: moment,
})

const member = z.object({
  userId: textOrNull,
  anonymousId: textOrNull,
  email: textOrNull,
  value: z.unknown(),
})

const regulationStatus = z.enum(['INITIALIZED', 'RUNNING', 'FINISHED', 'PARTIAL_SUCCESS', 'FAILED'])

const regulation = z.object({
  id: text,
  regulationType: z.enum(regulationTypes),
  subjectType: z.literal('USER_ID'),
  sources: z.array(text).nullable(),
  overallStatus: regulationStatus,
  createdAt: moment,
  finishedAt: moment,
  erased: counts('pending', 'settled', 'members'),
  archive: counts('events', 'files')
    .extend({ problems: z.array(text) })
    .nullable(),
  archivesLeft: z.array(text),
  streamStatus: z.array(
    z.object({
      id: text,
      destinationStatus: z.array(
        z.object({ id: text, status: regulationStatus, ...counts(...ended, 'pending').shape }),
      ),
    }),
  ),
})

function answer<Kind extends string, Shape extends z.core.$ZodLooseShape>(
  kind: Kind,
  shape: Shape,
) {
  return z.object({ v: z.literal(1), kind: z.literal(kind), ...shape })
}

const position = z.object({ range: count, destinationId: text, atMs: count })

/** The bodies of answers with the status 200. */
export const answerSchemas = {
  deliveries: answer('deliveries', {
    deliveries: z.array(delivery.extend({ kind: z.literal('delivery') })),
    next: count.nullable(),
  }),
  story: answer('story', { delivery, requests: z.array(request), body: text }),
  retry: answer('retry', { deliveries: count, next: position.nullable() }),
  discard: answer('discard', { deliveries: count, next: position.nullable() }),
  destinations: answer('destinations', { destinations: z.array(destination) }),
  destination: answer('destination', { id: text, enabled: z.boolean() }),
  test: answer('test', { id: text, messageId: text }),
  sources: answer('sources', { url: text, sources: z.array(source) }),
  overview: answer('overview', {
    problems: z.array(problem),
    ledger,
    oldestDueAt: moment,
    latency: z.object({
      deliveries: count,
      p50: z.number().nullable(),
      p99: z.number().nullable(),
    }),
    minutes: z.array(z.object({ at: moment, ...counts('accepted', 'delivered', 'failed').shape })),
  }),
  ledger: answer('ledger', ledger.shape),
  audit: answer('audit', {
    balanced: z.boolean(),
    ledger,
    counted: counts(...ended, 'pending'),
    purged: counts(...ended),
    withoutBody: count,
    imbalances: z.array(z.object({ equation: text, difference: count })),
  }),
  replay: answer('replay', counts('events', 'deliveries', 'unreadable').shape),
  audiences: answer('audiences', {
    audiences: z.array(audience.extend({ kind: z.literal('audience') })),
  }),
  members: answer('audience', { ...audience.shape, memberList: z.array(member), next: textOrNull }),
  /** A line of NDJSON. The last line is the outcome. */
  line: z.looseObject({ v: z.literal(1), kind: text }),
  regulations: answer('regulations', {
    regulations: z.array(regulation.extend({ kind: z.literal('regulation'), subjects: count })),
    next: textOrNull,
  }),
  regulation: answer('regulation', { ...regulation.shape, subjectIds: z.array(text) }),
} satisfies Readonly<Record<string, z.ZodType>>

/** The body of an answer with a status other than 200: a stable code, and a message for people. */
export const refusalSchema: z.ZodType = z.object({ error: z.object({ code: text, message: text }) })

/** Which of the {@link answerSchemas} describes the answer of an operation. */
export type AnswerName = keyof typeof answerSchemas

/** The record in an answer with the status 200, without its version. Times are UTC, ISO 8601. */
export type AnswerRecord<Name extends AnswerName> = Name extends AnswerName
  ? DeepReadonly<Omit<z.output<(typeof answerSchemas)[Name]>, 'v'>>
  : never

type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value

/** An audience or computed trait. */
export type AudienceFields = Omit<AnswerRecord<'audiences'>['audiences'][number], 'kind'>

/** A member. Its value is true in an audience, a value in a computed trait, and null if the member leaves. */
export type MemberFields = AnswerRecord<'members'>['memberList'][number]

/** A delivery without its body and requests. */
export type DeliveryFields = AnswerRecord<'story'>['delivery']

/** A delivery in an answer with several, without its requests. */
export type DeliveryListRecord = AnswerRecord<'deliveries'>['deliveries'][number]

/** A request to an endpoint. */
export type RequestFields = AnswerRecord<'story'>['requests'][number]

/** A regulation in an answer with several, with the number of its users instead of their ids. */
export type ListedRegulationFields = AnswerRecord<'regulations'>['regulations'][number]

/** A destination with its sources, endpoints and counts. */
export type DestinationFields = AnswerRecord<'destinations'>['destinations'][number]

/** An endpoint and its state. */
export type EndpointFields = DestinationFields['endpoints'][number]

/** A source, and the outcomes of its calls since this process started. */
export type SourceFields = AnswerRecord<'sources'>['sources'][number]
