import { describe, expect, test } from 'vitest'
import type { RegulationsRequest } from '../../src/privacy/index.ts'
import { oddIds } from './regulation-store-suppress.ts'
import type { RegulationsUnderTest } from './regulation-store-under-test.ts'
import { nowMs } from './store-under-test.ts'

/** Tests of `find`, `list`, `noteArchive` and `finish`. */
export function readSuite(tested: RegulationsUnderTest): void {
  describe('a regulation', () => {
    found(tested)
    listed(tested)
    closed(tested)
  })
}

function found(tested: RegulationsUnderTest): void {
  test('is found as it was stored', async () => {
    const sourceIds = ['website', 'a "b"']
    await tested.create('SUPPRESS_ONLY', oddIds, { id: 'r\0_1', sourceIds, atMs: nowMs + 3 })
    expect(await tested.regulation('r\0_1')).toEqual({
      id: 'r\0_1',
      type: 'SUPPRESS_ONLY',
      userIds: oddIds,
      sourceIds,
      createdAtMs: nowMs + 3,
      finishedAtMs: null,
      isStoreErased: true,
      erased: { pending: 0, settled: 0, members: 0 },
      archive: null,
      streams: [],
    })
    expect(await tested.all.regulations.find({ id: 'r' })).toBeUndefined()
  })

  test('has the counts of its archive erasure, and the time at which it finished', async () => {
    const id = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'])
    const archive = { events: 3, files: 2, problems: ['cannot read "x"'] }
    await tested.all.regulations.noteArchive({ id, archive })
    expect(await tested.regulation(id)).toMatchObject({ archive, finishedAtMs: null })
    await tested.all.regulations.finish({ id, nowMs: nowMs + 1 })
    expect(await tested.regulation(id)).toMatchObject({ archive, finishedAtMs: nowMs + 1 })
  })

  test('is not created by noteArchive or finish', async () => {
    const archive = { events: 0, files: 0, problems: [] }
    await tested.all.regulations.noteArchive({ id: 'r_none', archive })
    await tested.all.regulations.finish({ id: 'r_none', nowMs })
    expect(await tested.all.regulations.list({ limit: 10 })).toEqual([])
  })
}

function listed(tested: RegulationsUnderTest): void {
  async function ids(request: Partial<RegulationsRequest>): Promise<readonly string[]> {
    const page = await tested.all.regulations.list({ limit: 10, ...request })
    return page.map(({ id }) => id)
  }

  test('is listed in pages, newest first', async () => {
    for (const id of ['b', 'c', 'a']) await tested.create('SUPPRESS_ONLY', ['u_1'], { id })
    expect(await ids({})).toEqual(['a', 'c', 'b'])
    expect(await ids({ limit: 2 })).toEqual(['a', 'c'])
    expect(await ids({ limit: 2, beforeId: 'c' })).toEqual(['b'])
    expect(await ids({ beforeId: 'b' })).toEqual([])
    expect(await ids({ beforeId: 'none' })).toEqual([])
    const [first] = await tested.all.regulations.list({ limit: 1 })
    expect(first).toEqual(await tested.regulation('a'))
  })

  test('is listed as unfinished until it is finished', async () => {
    for (const id of ['a', 'b', 'c']) await tested.create('SUPPRESS_ONLY', ['u_1'], { id })
    await tested.all.regulations.finish({ id: 'b', nowMs })
    expect(await ids({ unfinished: true })).toEqual(['c', 'a'])
    expect(await ids({ unfinished: true, beforeId: 'b' })).toEqual(['a'])
    expect(await ids({ unfinished: false })).toEqual(['c', 'b', 'a'])
  })
}

function closed(tested: RegulationsUnderTest): void {
  test('cannot be used once the store is closed', async () => {
    const other = tested.all
    await tested.end()
    const regulation = { id: 'r', type: 'SUPPRESS_ONLY', userIds: ['u'], sourceIds: null } as const
    const calls = [
      () => other.regulations.find({ id: 'r' }),
      () => other.regulations.list({ limit: 1 }),
      () => other.regulations.erase({ id: 'r', nowMs, rowsMax: 1 }),
      () => other.regulations.finish({ id: 'r', nowMs }),
      () => other.regulations.create({ regulation, notifications: [], nowMs }),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'store_closed' })
    await tested.begin()
  })
}
