import type { SyncCounts } from '../../audience/index.ts'
import { formatCount } from '../output/numbers.ts'

/** The counts of a sync, for a person: `1,204 entered, 3 changed, 17 left, 88,000 unchanged (2 rejected)`. */
export function countsText(counts: SyncCounts): string {
  const { entered, changed, left, unchanged, rejected, suppressed } = counts
  const shown = Object.entries({ entered, changed, left, unchanged }).map(countText)
  const others = Object.entries({ rejected, suppressed }).filter(([, count]) => count > 0)
  const aside = others.length === 0 ? '' : ` (${others.map(countText).join(', ')})`
  return `${shown.join(', ')}${aside}`
}

/**
 * The progress of a sync, as parts of a line.
 *
 * @param compared - members that a dry run has read from the store and compared with the list
 */
export function progressParts(
  counts: SyncCounts,
  { elapsedMs, compared }: { readonly elapsedMs: number; readonly compared: number },
): readonly string[] {
  const { read, entered, changed, left } = counts
  if (read === 0 && compared > 0) return [`comparing with ${formatCount(compared)} members`]
  const rate = Math.round(read / (Math.max(elapsedMs, 1) / 1_000))
  const changes = Object.entries({ entered, changed, left }).filter(([, count]) => count > 0)
  return [rowsText(read), ...changes.map(countText), `${formatCount(rate)}/s`]
}

/** The number of rows read: `1 row`, `1,204 rows`. */
export function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${formatCount(count)} rows`
}

function countText([name, count]: readonly [string, number]): string {
  return `${formatCount(count)} ${name}`
}
