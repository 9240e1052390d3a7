import { effectsOf } from '../model/index.ts'
import type { NotificationStream, OverallStatus, Regulation } from './regulation.ts'

type NotificationCounts = Pick<NotificationStream, 'pending' | 'delivered' | 'failed' | 'expired'>

/**
 * Returns the overall status of a regulation. The first row that applies decides.
 *
 * | status | when |
 * |---|---|
 * | `INITIALIZED` | work is left, nothing was erased, and no notification has ended |
 * | `RUNNING` | work is left: in the store or its files, in archives, or pending notifications |
 * | `FAILED` | all of its notifications failed or expired |
 * | `PARTIAL_SUCCESS` | some notifications failed or expired, or an archive was unreadable, unwritable or released |
 * | `FINISHED` | otherwise, such as for a regulation that only suppresses |
 *
 * A finished regulation stays finished, even if its notifications are retried manually. It runs again only if a
 * released archive comes back.
 */
export function overallStatus(regulation: Regulation): OverallStatus {
  const { finishedAtMs, archivesLeft = [] } = regulation
  const notifications = totalOf(regulation.streams)
  if (finishedAtMs === null || archivesLeft.length > 0) {
    return isAnythingDone(regulation, notifications) ? 'RUNNING' : 'INITIALIZED'
  }
  const ended = endedStatus(notifications)
  const hasProblems = (regulation.archive?.problems.length ?? 0) > 0
  return ended === 'FINISHED' && hasProblems ? 'PARTIAL_SUCCESS' : ended
}

/**
 * Returns the status of a regulation's notifications from one source to one destination: `INITIALIZED` until one has
 * ended, `RUNNING` while some are pending, then `FAILED`, `PARTIAL_SUCCESS` or `FINISHED`.
 */
export function streamStatus(stream: NotificationStream): OverallStatus {
  if (stream.pending === 0) return endedStatus(stream)
  return endedCount(stream) === 0 ? 'INITIALIZED' : 'RUNNING'
}

function isAnythingDone(
  { type, isStoreErased, erased, archive }: Regulation,
  notifications: NotificationCounts,
): boolean {
  const isStoreDone = effectsOf(type).erasesStore && isStoreErased
  const erasedCount = erased.pending + erased.settled + erased.members
  return isStoreDone || erasedCount > 0 || archive !== null || endedCount(notifications) > 0
}

function endedStatus({ delivered, failed, expired }: NotificationCounts): OverallStatus {
  const lost = failed + expired
  if (lost === 0) return 'FINISHED'
  return delivered === 0 ? 'FAILED' : 'PARTIAL_SUCCESS'
}

function endedCount({ delivered, failed, expired }: NotificationCounts): number {
  return delivered + failed + expired
}

function totalOf(streams: readonly NotificationStream[]): NotificationCounts {
  const sum = (name: keyof NotificationCounts): number =>
    streams.reduce((total, stream) => total + stream[name], 0)
  return {
    pending: sum('pending'),
    delivered: sum('delivered'),
    failed: sum('failed'),
    expired: sum('expired'),
  }
}
