import { isoOrNull } from '../delivery/index.ts'
import type { NotificationStream, OverallStatus, Regulation } from './regulation.ts'
import { overallStatus, streamStatus } from './status.ts'

/** A JSON record about regulations. Its field names are public API. */
export type RegulationRecord = Readonly<Record<string, unknown>>

/** A regulation as JSON. Times are ISO 8601 in UTC. */
export interface RegulationFields extends RegulationRecord {
  readonly kind: 'regulation'
  readonly id: string
  readonly regulationType: Regulation['type']
  readonly subjectType: 'USER_ID'
  /** The affected sources; null for all. */
  readonly sources: readonly string[] | null
  readonly overallStatus: OverallStatus
  readonly createdAt: string | null
  /** When all of its work was done; null until then. */
  readonly finishedAt: string | null
  /** Counts of what was erased from the store. */
  readonly erased: Regulation['erased']
  /** Counts of what was erased from archives. */
  readonly archive: Regulation['archive']
  /** Names of other processes' archives that may still contain events of its users. */
  readonly archivesLeft: readonly string[]
  /** The notifications from each source to each destination. */
  readonly streamStatus: readonly SourceStatus[]
}

/** The notifications from one source. */
export interface SourceStatus {
  readonly id: string
  readonly destinationStatus: readonly DestinationStatus[]
}

/** The notifications from one source to one destination. */
export interface DestinationStatus extends Pick<
  NotificationStream,
  'pending' | 'delivered' | 'failed' | 'expired'
> {
  readonly id: string
  readonly status: OverallStatus
}

/** A regulation with its users. */
export interface WholeRegulationFields extends RegulationFields {
  readonly subjectIds: readonly string[]
}

/** A regulation in a list. */
export interface ListedRegulationFields extends RegulationFields {
  /** Number of users. */
  readonly subjects: number
}

/** Makes the record of a regulation, with its users. */
export function regulationRecord(regulation: Regulation): WholeRegulationFields {
  return recordWith({ subjectIds: regulation.userIds }, regulation)
}

/** Makes the record of a regulation for a list, with the number of users instead of their ids. */
export function listedRegulationRecord(regulation: Regulation): ListedRegulationFields {
  return recordWith({ subjects: regulation.userIds.length }, regulation)
}

function recordWith<Subjects extends RegulationRecord>(
  subjects: Subjects,
  regulation: Regulation,
): RegulationFields & Subjects {
  const { id, type, sourceIds, erased, archive, archivesLeft = [], streams } = regulation
  return {
    kind: 'regulation',
    id,
    regulationType: type,
    subjectType: 'USER_ID',
    ...subjects,
    sources: sourceIds,
    overallStatus: overallStatus(regulation),
    createdAt: isoOrNull(regulation.createdAtMs),
    finishedAt: isoOrNull(regulation.finishedAtMs),
    erased,
    archive,
    archivesLeft,
    streamStatus: streamFields(streams),
  }
}

function streamFields(streams: readonly NotificationStream[]): readonly SourceStatus[] {
  const bySource = new Map<string, DestinationStatus[]>()
  for (const stream of streams) {
    const { sourceId, destinationId, pending, delivered, failed, expired } = stream
    const status = streamStatus(stream)
    const fields = { id: destinationId, status, pending, delivered, failed, expired }
    const others = bySource.get(sourceId)
    if (others === undefined) bySource.set(sourceId, [fields])
    else others.push(fields)
  }
  return Array.from(bySource, ([id, destinationStatus]) => ({ id, destinationStatus }))
}
