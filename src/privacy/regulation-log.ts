import type { Log } from '../runtime/index.ts'
import type { PlannedRegulation } from './plan-regulation.ts'
import type { Regulation } from './regulation.ts'
import { overallStatus } from './status.ts'

/** Logs that a regulation was created, without its users. */
export function logCreated(log: Log, { regulation, notifications }: PlannedRegulation): void {
  const { id, type, userIds, sourceIds } = regulation
  log.info('a regulation was created', {
    regulation: id,
    type,
    users: userIds.length,
    sources: sourceIds?.length ?? 'all',
    notifications: notifications.length,
  })
}

/** Logs the status and the counts with which a regulation ended. */
export function logFinished(log: Log, regulation: Regulation): void {
  const { id, type, erased, archive } = regulation
  log.info('a regulation has finished', {
    regulation: id,
    type,
    status: overallStatus(regulation),
    pending: erased.pending,
    settled: erased.settled,
    members: erased.members,
    archived: archive?.events,
  })
}
