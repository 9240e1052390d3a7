import { expect, test } from 'vitest'
import { progressParts } from '../../../src/cli/audiences/change.ts'

const counts = {
  ...{ read: 0, rejected: 0, entered: 0, changed: 0 },
  ...{ left: 0, unchanged: 0, suppressed: 0 },
}

test('a dry run reports its progress until it reads the list', () => {
  const progress = { elapsedMs: 2_000, compared: 200_000 }
  expect(progressParts(counts, progress)).toEqual(['comparing with 200,000 members'])
  expect(progressParts(counts, { ...progress, compared: 1 })).toEqual(['comparing with 1 member'])
  expect(progressParts({ ...counts, read: 3_000, entered: 2 }, progress)).toEqual([
    '3,000 rows',
    '2 entered',
    '1,500/s',
  ])
  expect(progressParts(counts, { ...progress, compared: 0 })).toEqual(['0 rows', '0/s'])
})
