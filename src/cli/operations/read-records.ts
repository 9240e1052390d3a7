import { z } from 'zod'
import type {
  Audience,
  Member,
  MembershipChange,
  RejectedRow,
  SyncCounts,
} from '../../audience/index.ts'
import { regulationTypes, type RegulationType } from '../../model/index.ts'
import type { NotificationStream, OverallStatus, Regulation } from '../../privacy/index.ts'
import type { ReadAnswer } from './service-api.ts'

const moment = z.iso.datetime().transform((text) => Date.parse(text))
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

const member = z.object(memberFields).transform((fields): Member => {
  const { identity, value } = changeOf(fields)
  return { identity, value: value ?? 'null' }
})

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

const progressLines = {
  rejected: z
    .object({ line: count, code: z.string(), message: z.string() })
    .transform((row): ProgressLine => ({ kind: 'rejected', row })),
  change: z
    .object(memberFields)
    .transform((fields): ProgressLine => ({ kind: 'change', change: changeOf(fields) })),
  comparing: z
    .object({ members: count })
    .transform(({ members }): ProgressLine => ({ kind: 'comparing', members })),
  progress: counts.transform((counted): ProgressLine => ({ kind: 'progress', counts: counted })),
  sync: counts
    .extend({ outcome: z.enum(['synced', 'incomplete', 'ended', 'superseded']), audience })
    .transform(({ outcome, audience, ...counted }): ProgressLine => ({
      kind: 'sync',
      outcome,
      audience,
      counts: counted,
    })),
  removal: z
    .object({ outcome: z.enum(['removed', 'ended', 'superseded']), audience, left: count })
    .transform((removal): ProgressLine => ({ kind: 'removal', ...removal })),
  error: z
    .object({ code: z.string(), message: z.string() })
    .transform((error): ProgressLine => ({ kind: 'error', ...error })),
}

const regulationFields = z.object({
  id: z.string(),
  regulationType: z.enum(regulationTypes),
  sources: z.array(z.string()).nullable(),
  overallStatus,
  createdAt: moment,
  finishedAt: moment.nullable(),
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
const wholeRegulation = regulationFields.extend({ subjectIds: z.array(z.string()) })
const listedRegulation = regulationFields.extend({ subjects: count })

/** The fields of a regulation's record, without its users. */
export interface RegulationFields extends Pick<Regulation, 'id' | 'erased' | 'archive'> {
  readonly regulationType: RegulationType
  /** The affected sources; null for all. */
  readonly sources: readonly string[] | null
  readonly overallStatus: OverallStatus
  /** When it was stored, in milliseconds since 1970. */
  readonly createdAt: number
  /** When all its work was done, in milliseconds since 1970; null before that. */
  readonly finishedAt: number | null
  /** The names of other processes' archives that may still contain events of its users. */
  readonly archivesLeft: readonly string[]
  /** The notifications from each source to each destination. */
  readonly streamStatus: readonly {
    readonly id: string
    readonly destinationStatus: readonly DestinationStatus[]
  }[]
}

/** The notifications from one source to one destination. */
export interface DestinationStatus extends Pick<
  NotificationStream,
  'pending' | 'delivered' | 'failed' | 'expired'
> {
  /** The id of the destination. */
  readonly id: string
  readonly status: OverallStatus
}

/** A parsed regulation. */
export interface ToldRegulation {
  /** The record, unchanged. */
  readonly record: Readonly<Record<string, unknown>>
  readonly fields: RegulationFields
  /** The ids of its users. */
  readonly userIds: readonly string[]
}

/** A regulation in a list, without its users' ids. */
export interface ListedRegulation {
  /** The record, unchanged. */
  readonly record: Readonly<Record<string, unknown>>
  readonly fields: RegulationFields
  /** The number of users. */
  readonly subjects: number
}

/** The sources of a destination. */
export interface DestinationSources {
  /** If false, nothing is sent to the destination. */
  readonly enabled: boolean
  /** The sources that are connected to it. */
  readonly sourceIds: readonly string[]
}

/** Parses the audiences of a service. */
export const readAudiences: ReadAnswer<readonly Audience[]> = reader(
  z.object({ kind: z.literal('audiences'), audiences: z.array(audience) }),
  ({ audiences }) => audiences,
)

/** Parses a page of an audience's members. */
export const readMembers: ReadAnswer<readonly Member[]> = reader(
  z.object({ kind: z.literal('audience'), memberList: z.array(member) }),
  ({ memberList }) => memberList,
)

/** Parses one line of progress. */
export const readProgressLine: ReadAnswer<ProgressLine> = (answer) => {
  const kind = kinds.safeParse(answer)
  return kind.success ? progressLines[kind.data.kind].safeParse(answer).data : undefined
}
const kinds = z.object({
  kind: z.enum(Object.keys(progressLines) as (keyof typeof progressLines)[]),
})

/** Parses a `regulationRecord` record. */
export const readRegulation: ReadAnswer<ToldRegulation> = (answer) => {
  const { data } = wholeRegulation.safeParse(answer)
  if (data === undefined) return undefined
  const { subjectIds: userIds, ...fields } = data
  return { record: answer as ToldRegulation['record'], fields, userIds }
}

/** Parses a page of regulations. */
export const readRegulations: ReadAnswer<readonly ListedRegulation[]> = (answer) => {
  const page = z.object({ regulations: z.array(z.unknown()) }).safeParse(answer)
  const read = page.data?.regulations.map(readListedRegulation)
  const known = read?.filter((each) => each !== undefined)
  return known?.length === read?.length ? known : undefined
}

/** Parses a regulation of a list. */
export const readListedRegulation: ReadAnswer<ListedRegulation> = (answer) => {
  const { data } = listedRegulation.safeParse(answer)
  if (data === undefined) return undefined
  const { subjects, ...fields } = data
  return { record: answer as ListedRegulation['record'], fields, subjects }
}

/** Parses the sources of a service's destinations. */
export const readDestinationSources: ReadAnswer<readonly DestinationSources[]> = reader(
  z.object({
    kind: z.literal('destinations'),
    destinations: z.array(z.object({ enabled: z.boolean(), sources: z.array(z.string()) })),
  }),
  ({ destinations }) =>
    destinations.map(({ enabled, sources }) => ({ enabled, sourceIds: sources })),
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
