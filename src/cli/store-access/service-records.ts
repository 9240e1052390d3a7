import { z } from 'zod'
import type {
  Audience,
  Member,
  MembershipChange,
  RejectedRow,
  SyncCounts,
} from '../../audience/index.ts'
import {
  parseDeliveryId,
  type DeliveryStory,
  type LoggedDelivery,
  type StoreAudit,
} from '../../delivery/index.ts'
import { emptyLedger, eventTypes, regulationTypes, type RequestRecord } from '../../model/index.ts'
import type { ListedRegulationFields, WholeRegulationFields } from '../../privacy/index.ts'
import type { DestinationStanding } from '../deliveries/standing.ts'
import type { ReadAnswer } from './service-api.ts'

const moment = z.iso
  .datetime()
  // Years beyond 9999 have a sign and six digits.
  .or(z.string().regex(/^[+-]\d{6}-/))
  .transform((text) => Date.parse(text))
const count = z.number()
const nullableText = z.string().nullable()
const overallStatus = z.enum(['INITIALIZED', 'RUNNING', 'FINISHED', 'PARTIAL_SUCCESS', 'FAILED'])

const audienceFields = {
  key: z.string(),
  name: z.string(),
  class: z.enum(['audience', 'trait']),
  computationId: z.string(),
  source: z.string(),
  members: count,
  createdAt: moment,
  syncedAt: moment.nullable(),
}
const audience = z.object(audienceFields).transform(audienceOf)

function audienceOf(fields: z.output<z.ZodObject<typeof audienceFields>>): Audience {
  const { class: computationClass, source, createdAt, syncedAt, ...same } = fields
  const { key, name, computationId, members } = same
  return {
    ...{ key, name, computationId, members },
    computationClass,
    sourceId: source,
    createdAtMs: createdAt,
    syncedAtMs: syncedAt,
  }
}

const memberFields = {
  userId: nullableText,
  anonymousId: nullableText,
  email: nullableText,
  value: z.unknown(),
}

function changeOf(fields: z.output<z.ZodObject<typeof memberFields>>): MembershipChange {
  const { userId, anonymousId, email, value } = fields
  const isGone = value === null || value === undefined
  return { identity: { userId, anonymousId, email }, value: isGone ? null : JSON.stringify(value) }
}

/** Parses the audiences of a service. */
export const audiences: ReadAnswer<readonly Audience[]> = reader(
  z
    .object({ kind: z.literal('audiences'), audiences: z.array(audience) })
    .transform((page) => page.audiences),
)

/** Parses a page of an audience's members. */
export const members: ReadAnswer<readonly Member[]> = reader(
  z
    .object({ kind: z.literal('audience'), memberList: z.array(z.object(memberFields)) })
    .transform(({ memberList }) =>
      memberList.map((fields) => {
        const { identity, value } = changeOf(fields)
        return { identity, value: value ?? 'null' }
      }),
    ),
)

const counts = z.object({
  read: count,
  rejected: count,
  entered: count,
  changed: count,
  left: count,
  unchanged: count,
  suppressed: count,
})

/** One line of a service's progress while it syncs or removes an audience. */
export type ProgressLine =
  | { readonly kind: 'rejected'; readonly row: RejectedRow }
  | { readonly kind: 'change'; readonly change: MembershipChange }
  | { readonly kind: 'comparing'; readonly members: number }
  | { readonly kind: 'progress'; readonly counts: SyncCounts }
  | {
      readonly kind: 'sync'
      readonly outcome: 'synced' | 'incomplete' | 'ended' | 'superseded'
      readonly audience: Audience
      readonly counts: SyncCounts
    }
  | {
      readonly kind: 'removal'
      readonly outcome: 'removed' | 'ended' | 'superseded'
      readonly audience: Audience
      readonly left: number
    }
  | { readonly kind: 'error'; readonly code: string; readonly message: string }

/** Parses one line of progress. */
export const progressLine: ReadAnswer<ProgressLine> = reader<ProgressLine>(
  z.discriminatedUnion('kind', [
    z
      .object({ kind: z.literal('rejected'), line: count, code: z.string(), message: z.string() })
      .transform(({ kind, ...row }) => ({ kind, row })),
    z
      .object({ kind: z.literal('change'), ...memberFields })
      .transform(({ kind, ...fields }) => ({ kind, change: changeOf(fields) })),
    z.object({ kind: z.literal('comparing'), members: count }),
    counts
      .extend({ kind: z.literal('progress') })
      .transform(({ kind, ...counted }) => ({ kind, counts: counted })),
    counts
      .extend({
        kind: z.literal('sync'),
        outcome: z.enum(['synced', 'incomplete', 'ended', 'superseded']),
        audience,
      })
      .transform(({ kind, outcome, audience, ...counted }) => ({
        kind,
        outcome,
        audience,
        counts: counted,
      })),
    z.object({
      kind: z.literal('removal'),
      outcome: z.enum(['removed', 'ended', 'superseded']),
      audience,
      left: count,
    }),
    z.object({ kind: z.literal('error'), code: z.string(), message: z.string() }),
  ]),
)

/** Other fields of the record stay: programs get the record of the service unchanged. */
const regulationFields = z.looseObject({
  id: z.string(),
  regulationType: z.enum(regulationTypes),
  sources: z.array(z.string()).nullable(),
  overallStatus,
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
  erased: z.object({ pending: count, settled: count, members: count }),
  archive: z.object({ events: count, files: count, problems: z.array(z.string()) }).nullable(),
  archivesLeft: z.array(z.string()),
  streamStatus: z.array(
    z.object({
      id: z.string(),
      destinationStatus: z.array(
        z.object({
          id: z.string(),
          status: overallStatus,
          pending: count,
          delivered: count,
          failed: count,
          expired: count,
        }),
      ),
    }),
  ),
})

/** Parses a regulation. */
export const regulation: ReadAnswer<WholeRegulationFields> = reader(
  regulationFields.extend({ subjectIds: z.array(z.string()) }),
)

/** Parses a page of regulations. */
export const regulations: ReadAnswer<readonly ListedRegulationFields[]> = reader(
  z
    .object({ regulations: z.array(regulationFields.extend({ subjects: count })) })
    .transform((page) => page.regulations),
)

/** The sources of a destination. */
export interface DestinationSources {
  /** If false, nothing is sent to the destination. */
  readonly enabled: boolean
  /** The sources that are connected to it. */
  readonly sourceIds: readonly string[]
}

/** Parses the sources of a service's destinations. */
export const destinationSources: ReadAnswer<readonly DestinationSources[]> = reader(
  z
    .object({
      kind: z.literal('destinations'),
      destinations: z.array(z.object({ enabled: z.boolean(), sources: z.array(z.string()) })),
    })
    .transform((page) =>
      page.destinations.map(({ enabled, sources }) => ({ enabled, sourceIds: sources })),
    ),
)

const lane = z.enum(['first', 'retry', 'manual'])

const fault = z
  .object({ reason: z.string(), failures: count, since: moment })
  .transform(({ reason, failures, since }) => ({ reason, failures, sinceMs: since }))

const destination = z.object({
  id: z.string(),
  enabled: z.boolean(),
  endpoints: z.array(
    z
      .object({
        url: z.string(),
        probeAt: moment.nullable(),
        // Services of an earlier version send no faults.
        faults: z.array(fault).default([]),
      })
      .transform(({ url, probeAt, faults }) => ({ url, probeAtMs: probeAt, faults })),
  ),
})

const delivery = z
  .object({
    id: z.string().transform((text, context) => {
      const key = parseDeliveryId(text)
      if (key !== undefined) return key
      context.addIssue('It is no id of a delivery')
      return z.NEVER
    }),
    messageId: z.string(),
    type: z.enum(eventTypes),
    userId: z.string().nullable(),
    source: z.string(),
    state: z.enum(['pending', 'delivered', 'failed', 'expired']),
    lane,
    attempts: count,
    windowAttempts: count,
    manualRetries: count,
    reason: z.string().nullable(),
    acceptedAt: moment,
    firstAttemptAt: moment.nullable(),
    dueAt: moment.nullable(),
    expiresAt: moment.nullable(),
    settledAt: moment.nullable(),
    holds: z.array(z.object({ url: z.string(), until: moment.nullable() })),
  })
  .transform(
    ({ id, source, acceptedAt, firstAttemptAt, dueAt, expiresAt, settledAt, holds, ...same }) =>
      ({
        ...same,
        ...id,
        sourceId: source,
        acceptedAtMs: acceptedAt,
        firstAttemptAtMs: firstAttemptAt,
        dueAtMs: dueAt,
        expiresAtMs: expiresAt,
        settledAtMs: settledAt,
        holds: holds.map(({ url, until }) => ({ url, untilMs: until })),
      }) satisfies LoggedDelivery,
  )

const request = z
  .object({
    url: z.string(),
    lane,
    attempt: count,
    outcome: z.enum(['success', 'retry', 'final']),
    status: z.number().nullable(),
    error: z.string().nullable(),
    ms: z.number(),
    at: moment,
    excerpt: z.string(),
  })
  .transform(({ ms, at, ...same }) => ({ ...same, durationMs: ms, atMs: at }))

const ended = { delivered: count, failed: count, expired: count }

/** Parses a page of `loggedDeliveryRecord` records. */
export const deliveries: ReadAnswer<readonly LoggedDelivery[]> = reader(
  z
    .object({ kind: z.literal('deliveries'), deliveries: z.array(delivery) })
    .transform((page) => page.deliveries),
)

/** Parses a `storyRecord` record. */
export const story: ReadAnswer<DeliveryStory> = reader(
  z
    .object({ kind: z.literal('story'), delivery, requests: z.array(request), body: z.string() })
    .transform(({ delivery, requests, body }) => {
      const { destinationId, id: deliveryId, messageId } = delivery
      const same = { destinationId, deliveryId, messageId }
      const whole = requests.map((each): RequestRecord => ({ ...each, ...same }))
      return { ...delivery, requests: whole, body }
    }),
)

/** Parses the number of retried deliveries. */
export const retried: ReadAnswer<number> = countOf('retry')

/** Parses the number of discarded deliveries. */
export const discarded: ReadAnswer<number> = countOf('discard')

/** Parses an `auditRecord` record. */
export const audit: ReadAnswer<StoreAudit> = reader(
  z
    .object({
      kind: z.literal('audit'),
      ledger: z.record(z.enum(Object.keys(emptyLedger) as (keyof typeof emptyLedger)[]), count),
      counted: z.object({ pending: count, ...ended }),
      purged: z.object(ended),
      withoutBody: count,
    })
    .transform(({ ledger, counted, purged, withoutBody }) => ({
      ledger,
      counted,
      purged,
      withoutBody,
    })),
)

/** Parses the status of the destinations. */
export const destinations: ReadAnswer<readonly DestinationStanding[]> = reader(
  z
    .object({ kind: z.literal('destinations'), destinations: z.array(destination) })
    .transform((page) => page.destinations),
)

function countOf(kind: string): ReadAnswer<number> {
  const schema = z.object({ kind: z.literal(kind), deliveries: count })
  return reader(schema.transform((answer) => answer.deliveries))
}

function reader<Value>(schema: z.ZodType<Value>): ReadAnswer<Value> {
  return (answer) => schema.safeParse(answer).data
}
