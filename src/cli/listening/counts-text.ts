import type { ReceivedCounts } from '../../receiver/index.ts'
import { formatCount } from '../output/numbers.ts'

/** The number of requests, for a person. */
export function countsText(counts: ReceivedCounts): string {
  const { wellFormed } = counts
  const parts = [`${formatCount(wellFormed)} ${wellFormed === 1 ? 'webhook' : 'webhooks'}`]
  if (counts.malformed > 0) parts.push(`${formatCount(counts.malformed)} malformed`)
  if (counts.valid > 0) parts.push(`${formatCount(counts.valid)} with a valid signature`)
  if (counts.invalid > 0) parts.push(`${formatCount(counts.invalid)} with a wrong one`)
  if (counts.missing > 0) parts.push(`${formatCount(counts.missing)} without one`)
  return parts.join(', ')
}
