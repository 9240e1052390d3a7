import { isoOrNull } from '../delivery/index.ts'
import type { NotificationStream, Regulation } from './regulation.ts'
import { overallStatus, streamStatus } from './status.ts'

/** A JSON record about regulations. Its field names are public. */
export type RegulationRecord = Readonly<Record<string, unknown>>

/** A regulation in a record. Moments are UTC, ISO 8601. */
export interface RegulationFields extends RegulationRecord {
  readonly id: string
  readonly regulationType: Regulation['type']
  readonly overallStatus: ReturnType<typeof overallStatus>
  readonly createdAt: string | null
  readonly finishedAt: string | null
  /** What was erased of the store. */
  readonly erased: Regulation['erased']
}

/** The same in a list. */
export interface ListedRegulationFields extends RegulationFields {
  /** Number of its users. */
  readonly subjects: number
}

/** A regulation as a record for programs. */
export function regulationRecord(regulation: Regulation): RegulationRecord {
  return recordWith({ subjectIds: regulation.userIds }, regulation)
}

/** A regulation as a record of a list, with the number of users instead of their ids. */
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
    erased: { pending: erased.pending, settled: erased.settled, members: erased.members },
    archive: archive && {
      events: archive.events,
      files: archive.files,
      problems: archive.problems,
    },
    archivesLeft,
    streamStatus: streamFields(streams),
  }
}

/** The streams grouped by source, in their order. */
function streamFields(streams: readonly NotificationStream[]): readonly RegulationRecord[] {
  const bySource = new Map<string, RegulationRecord[]>()
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
