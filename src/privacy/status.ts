import { effectsOf } from '../model/index.ts'
import type { NotificationStream, OverallStatus, Regulation } from './regulation.ts'

/** Notifications by how they stand. */
type NotificationCounts = Pick<NotificationStream, 'pending' | 'delivered' | 'failed' | 'expired'>

/**
 * How a regulation stands as a whole. The first line that is true:
 *
 * | status | when |
 * |---|---|
 * | `INITIALIZED` | something is left, and nothing was done yet: nothing was erased, no notification has come to its end |
 * | `RUNNING` | something is left: in the store, in archives, or notifications that wait |
 * | `FAILED` | it has notifications, and all of them failed or expired |
 * | `PARTIAL_SUCCESS` | some of them did, or something in archives could not be read or written |
 * | `FINISHED` | anything else, such as one that only suppresses |
 *
 * Nothing is left of one that is finished, whatever was retried by hand since. What its type does not
 * ask for is not left.
 */
export function overallStatus(regulation: Regulation): OverallStatus {
  const notifications = totalOf(regulation.streams)
  if (isAnythingLeft(regulation, notifications)) {
    return isAnythingDone(regulation, notifications) ? 'RUNNING' : 'INITIALIZED'
  }
  const ended = endedStatus(notifications)
  const hasProblems = (regulation.archive?.problems.length ?? 0) > 0
  return ended === 'FINISHED' && hasProblems ? 'PARTIAL_SUCCESS' : ended
}

/**
 * How the notifications of a regulation from one source to one destination stand. The first line that
 * is true:
 *
 * | status | when |
 * |---|---|
 * | `INITIALIZED` | some wait, and none has come to its end |
 * | `RUNNING` | some wait |
 * | `FAILED` | all failed or expired |
 * | `PARTIAL_SUCCESS` | some did |
 * | `FINISHED` | all were delivered |
 */
export function streamStatus(stream: NotificationStream): OverallStatus {
  if (stream.pending === 0) return endedStatus(stream)
  return endedCount(stream) === 0 ? 'INITIALIZED' : 'RUNNING'
}

/** Whether something is left to do for a regulation: in the store, in archives, or notifications that wait. */
function isAnythingLeft(
  { type, finishedAtMs, isStoreErased, archive, archivesLeft = [] }: Regulation,
  { pending }: NotificationCounts,
): boolean {
  if (finishedAtMs !== null) return false
  const { erasesStore, erasesArchives } = effectsOf(type)
  const isArchiveLeft = erasesArchives && (archive === null || archivesLeft.length > 0)
  return (erasesStore && !isStoreErased) || isArchiveLeft || pending > 0
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
