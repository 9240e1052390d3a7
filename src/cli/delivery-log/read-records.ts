import { z } from 'zod'
import {
  parseDeliveryId,
  type DeliveryStory,
  type LoggedDelivery,
  type StoreAudit,
} from '../../delivery/index.ts'
import { emptyLedger, eventTypes, type RequestRecord } from '../../model/index.ts'
import type { ReadAnswer } from '../operations/service-api.ts'
import type { DestinationStanding } from './waits.ts'

/** One page of deliveries from a service. */
export interface DeliveriesPage {
  readonly deliveries: readonly LoggedDelivery[]
}

const moment = z.iso
  .datetime()
  .or(z.string().regex(/^[+-]\d{6}-/))
  .transform((text) => Date.parse(text))
const lane = z.enum(['first', 'retry', 'manual'])
const count = z.number()

const fault = z
  .object({ reason: z.string(), failures: count, since: moment })
  .transform(({ reason, failures, since }) => ({ reason, failures, sinceMs: since }))

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

const page = z.object({ kind: z.literal('deliveries'), deliveries: z.array(delivery) })
const story = z.object({
  kind: z.literal('story'),
  delivery,
  requests: z.array(request),
  body: z.string(),
})
const retried = z.object({ kind: z.literal('retry'), deliveries: count })
const discarded = z.object({ kind: z.literal('discard'), deliveries: count })
const audit = z.object({
  kind: z.literal('audit'),
  ledger: z.record(z.enum(Object.keys(emptyLedger) as (keyof typeof emptyLedger)[]), count),
  counted: z.object({ pending: count, ...ended }),
  purged: z.object(ended),
  withoutBody: count,
})
const destinations = z.object({
  kind: z.literal('destinations'),
  destinations: z.array(
    z.object({
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
    }),
  ),
})

/** Parses a page of `loggedDeliveryRecord` records. */
export const readPage: ReadAnswer<DeliveriesPage> = reader(page, (value) => value)

/** Parses a `storyRecord` record. */
export const readStory: ReadAnswer<DeliveryStory> = reader(story, (value) => {
  const { destinationId, id: deliveryId, messageId } = value.delivery
  const requests = value.requests.map((each): RequestRecord => ({
    ...each,
    destinationId,
    deliveryId,
    messageId,
  }))
  return { ...value.delivery, requests, body: value.body }
})

/** Parses the number of retried deliveries. */
export const readRetried: ReadAnswer<number> = reader(retried, ({ deliveries }) => deliveries)

/** Parses the number of discarded deliveries. */
export const readDiscarded: ReadAnswer<number> = reader(discarded, ({ deliveries }) => deliveries)

/** Parses the status of the destinations. */
export const readDestinations: ReadAnswer<readonly DestinationStanding[]> = reader(
  destinations,
  (value) => value.destinations,
)

/** Parses an `auditRecord` record. */
export const readAudit: ReadAnswer<StoreAudit> = reader(
  audit,
  ({ ledger, counted, purged, withoutBody }) => ({ ledger, counted, purged, withoutBody }),
)

function reader<Written, Value>(
  schema: z.ZodType<Written>,
  understand: (written: Written) => Value,
): ReadAnswer<Value> {
  return (answer) => {
    const { success, data } = schema.safeParse(answer)
    return success ? understand(data) : undefined
  }
}
