import { stopwatch, type Log } from '../runtime/index.ts'

/** How far the upgrade of a file has come. */
export interface UpgradeProgress {
  /** The file. */
  readonly file: string
  /** How large it was before, in bytes. */
  readonly bytes: number
  /** Statements that were run. */
  readonly done: number
  /** Statements in all. */
  readonly total: number
}

const lineEveryMs = 2_000

/** Makes what writes a line at the beginning of an upgrade, at its end, and now and then between. */
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
