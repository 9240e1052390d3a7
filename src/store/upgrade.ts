import { stopwatch, type Log } from '../runtime/index.ts'

/** The progress of an upgrade. */
export interface UpgradeProgress {
  /** The file. */
  readonly file: string
  /** Its size before, in bytes. */
  readonly bytes: number
  /** Statements that were run. */
  readonly done: number
  /** Statements in all. */
  readonly total: number
}

const lineEveryMs = 2_000

/**
 * Makes a function that logs the beginning and the end of an upgrade, and its progress from time to
 * time.
 */
export function upgradeLines(log: Log): (progress: UpgradeProgress) => void {
  const elapsedMs = stopwatch()
  let toldMs = -Infinity
  return ({ file, bytes, done, total }) => {
    const isLast = done === total
    if (!isLast && elapsedMs() - toldMs < lineEveryMs) return
    toldMs = elapsedMs()
    const seconds = Math.round(toldMs / 1_000)
    if (isLast) log.warn('upgraded the store', { file, seconds })
    else log.warn('upgrading the store', { file, megabytes: Math.ceil(bytes / 1e6), done, total })
  }
}
