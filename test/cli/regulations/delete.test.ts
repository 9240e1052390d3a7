import { expect, test } from 'vitest'
import type { Io } from '../../../src/cli/io.ts'
import { readSubjects } from '../../../src/cli/regulations/delete.ts'

/** Users from flags, which need no stream. */
async function readUsers(count: number): Promise<readonly number[]> {
  const userIds = Array.from({ length: count }, (_, index) => String(index))
  const ofAll = { type: 'DELETE_ONLY', sourceIds: null, file: undefined, idColumns: [] } as const
  const counts: number[] = []
  const batches = await readSubjects({ ...ofAll, userIds }, {} as Io, {
    read: (users) => counts.push(users),
    rejected: () => undefined,
  })
  expect(counts.at(-1)).toBe(count)
  return batches.map(({ length }) => length)
}

test('a list is read completely, in a batch for each regulation', async () => {
  expect(await readUsers(12_000)).toEqual([5_000, 5_000, 2_000])
})

test('a list of more than a million users is refused', async () => {
  await expect(readUsers(1_000_001)).rejects.toMatchObject({
    code: 'invalid_usage',
    message: 'Cannot read more than 1,000,000 users, or 200 MB of ids, from one list',
    hint: expect.stringContaining('Split the list') as string,
  })
})
