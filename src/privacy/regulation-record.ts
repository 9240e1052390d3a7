import { isoOrNull } from '../delivery/index.ts'
import type { NotificationStream, Regulation } from './regulation.ts'
import { overallStatus, streamStatus } from './status.ts'

/** Makes the record of a regulation with all its userIds, for output as JSON. */
export function regulationRecord(regulation: Regulation) {
  return recordWith({ subjectIds: regulation.userIds }, regulation)
}

/** Makes the record of a regulation for a list, with the number of users instead of their ids. */
export function listedRegulationRecord(regulation: Regulation) {
  return recordWith({ subjects: regulation.userIds.length }, regulation)
}

function recordWith<Subjects extends object>(subjects: Subjects, regulation: Regulation) {
  const { id, type, sourceIds, erased, archive, archivesLeft = [], streams } = regulation
  return {
    kind: 'regulation' as const,
    id,
    regulationType: type,
    subjectType: 'USER_ID' as const,
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

function streamFields(streams: readonly NotificationStream[]) {
  const bySource = new Map<string, ReturnType<typeof statusFields>[]>()
  for (const stream of streams) {
    const statuses = bySource.get(stream.sourceId) ?? []
    statuses.push(statusFields(stream))
    bySource.set(stream.sourceId, statuses)
  }
  return Array.from(bySource, ([id, destinationStatus]) => ({ id, destinationStatus }))
}

function statusFields(stream: NotificationStream) {
  const { destinationId: id, pending, delivered, failed, expired } = stream
  return { id, status: streamStatus(stream), pending, delivered, failed, expired }
}
