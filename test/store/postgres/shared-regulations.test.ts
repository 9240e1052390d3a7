import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { overallStatus } from '../../../src/privacy/index.ts'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { eventAbout, RegulationsUnderTest } from '../../conformance/regulation-store-under-test.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { PostgresDatabases } from '../../support/postgres.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const databases = new PostgresDatabases()

async function open() {
  const url = await databases.emptiedUrl()
  const store = await openPostgresStore(url)
  const tested = new RegulationsUnderTest(() => Promise.resolve(store))
  await tested.begin()
  onTestFinished(() => tested.all.close())
  const shared = store.sharedRegulations
  return {
    ...{ tested, shared, regulations: store.regulations, url },
    /** Registers archives, each with its id as its name. */
    register: (...ids: readonly string[]) =>
      shared.register({ archives: ids.map((id) => ({ id, name: `/${id}` })) }),
    unfinished: (...archiveIds: readonly string[]) => shared.unfinished({ archiveIds }),
  }
}

const erased = (events: number) => ({ events, files: 1, problems: [] })

describe('a regulation with archives', () => {
  test('finishes only after every archive is erased', async () => {
    const { tested, regulations, register, unfinished } = await open()
    await register('a', 'b')
    const id = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'])
    expect(await unfinished('b')).toEqual([{ id, isArchiveLeft: true, isDue: false }])
    expect(await unfinished()).toEqual([{ id, isArchiveLeft: false, isDue: false }])
    await regulations.noteArchive({ id, archive: erased(2), archiveIds: ['b'] })
    await regulations.finish({ id, nowMs })
    const waiting = await tested.regulation(id)
    expect(waiting).toMatchObject({ archivesLeft: ['/a'], archive: erased(2), finishedAtMs: null })
    expect(overallStatus(waiting)).toBe('RUNNING')
    expect(await unfinished('b')).toEqual([{ id, isArchiveLeft: false, isDue: false }])

    await regulations.noteArchive({ id, archive: erased(3), archiveIds: ['a'] })
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: false, isDue: true }])
    await regulations.finish({ id, nowMs })
    expect(await tested.regulation(id)).toMatchObject({
      ...{ archivesLeft: undefined, finishedAtMs: nowMs },
      archive: { events: 5, files: 2, problems: [] },
    })
    expect(await unfinished('a')).toEqual([])
  })

  test('waits once for each archive that is registered before it finishes', async () => {
    const { tested, regulations, register, unfinished } = await open()
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: false, isDue: true }])
    await register('a')
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: true, isDue: true }])
    await regulations.noteArchive({ id, archive: erased(1), archiveIds: ['a'] })
    // A restarted process registers an already erased archive again.
    await register('a')
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: false, isDue: true }])
    await tested.erase(id)
    await regulations.finish({ id, nowMs })
    await register('b')
    expect(await unfinished('b')).toEqual([])
  })

  test('waits for no archive if it only suppresses', async () => {
    const { tested, register, unfinished } = await open()
    await register('a')
    const id = await tested.create('SUPPRESS_ONLY', ['u_1'])
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: false, isDue: true }])
  })

  test('is erased from the store by a process without archives', async () => {
    const { tested, register, unfinished } = await open()
    await register('a')
    await tested.add([eventAbout('u_1')])
    const id = await tested.create('DELETE_INTERNAL', ['u_1'])
    expect(await unfinished()).toEqual([{ id, isArchiveLeft: false, isDue: true }])
    await tested.erase(id)
    expect(await unfinished()).toEqual([{ id, isArchiveLeft: false, isDue: false }])
  })

  test('does not wait for a released archive, and reports that it was not erased', async () => {
    const { tested, regulations, register, unfinished, url } = await open()
    await register('a', 'b')
    const id = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'])
    await regulations.noteArchive({ id, archive: erased(1), archiveIds: ['a'] })
    const log = await openPostgresStore(url, { access: 'write' })
    onTestFinished(() => log.close())
    expect(await log.sharedRegulations.release({ name: '/none' })).toBe(false)
    expect(await log.sharedRegulations.release({ name: '/b' })).toBe(true)
    expect(await unfinished()).toEqual([{ id, isArchiveLeft: false, isDue: true }])
    const released = await tested.regulation(id)
    expect(released.archivesLeft).toBeUndefined()
    expect(released.archive?.problems).toEqual([
      expect.stringContaining('/b: the archive was released'),
    ])
    const next = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'], { id: 'r_next' })
    expect((await tested.regulation(next)).archivesLeft).toEqual(['/a'])
  })

  test('waits again for a released archive that is registered again, even after it finished', async () => {
    const { tested, regulations, shared, register, unfinished } = await open()
    await register('a', 'b')
    const id = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'])
    await regulations.noteArchive({ id, archive: erased(1), archiveIds: ['a'] })
    await shared.release({ name: '/b' })
    await regulations.finish({ id, nowMs })
    expect(overallStatus(await tested.regulation(id))).toBe('PARTIAL_SUCCESS')
    await register('b')
    expect(await unfinished('a')).toEqual([{ id, isArchiveLeft: false, isDue: false }])
    expect(await unfinished('b')).toEqual([{ id, isArchiveLeft: true, isDue: false }])
    expect(overallStatus(await tested.regulation(id))).toBe('RUNNING')
    await regulations.noteArchive({ id, archive: erased(2), archiveIds: ['b'] })
    expect(await unfinished('b')).toEqual([])
    const regulation = await tested.regulation(id)
    expect(regulation).toMatchObject({ archive: { events: 3, problems: [] }, finishedAtMs: nowMs })
    expect(overallStatus(regulation)).toBe('FINISHED')
  })

  test('reports the current name of an archive', async () => {
    const { tested, shared, register } = await open()
    await register('a')
    const id = await tested.create('DELETE_ARCHIVE_ONLY', ['u_1'])
    await shared.register({ archives: [{ id: 'a', name: '/moved' }] })
    expect((await tested.regulation(id)).archivesLeft).toEqual(['/moved'])
  })
})
