import { once } from 'node:events'
import { statSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ListedMembers } from '../../../src/store/audiences/syncs.ts'
import { SqliteLog } from '../../../src/store/sqlite/sqlite-log.ts'
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import {
  AudiencesUnderTest,
  inOrder,
  member,
  vip,
} from '../../conformance/audience-store-under-test.ts'
import { nowMs } from '../../conformance/store-under-test.ts'
import { startSource } from '../../support/run-source.ts'
import { newPath } from './store-calls.ts'

/** Opens the audiences of a file, which is closed when the test ends. */
async function opened(path: string): Promise<AudiencesUnderTest> {
  const tested = new AudiencesUnderTest(() => SqliteStore.open(path))
  await tested.begin()
  onTestFinished(() => tested.store.close())
  return tested
}

/** Opens a store with an audience of 1,500 members. */
async function largeAudience() {
  const tested = await opened(await newPath())
  const sync = await tested.beginSync()
  for (let first = 0; first < 1_500; first += 500) {
    const part = Array.from({ length: 500 }, (_, index) => member(`u_${first + index}`))
    await sync.take(...part)
  }
  const beginSync = (): Promise<unknown> => tested.beginSync({ audience: { key: 'other' } })
  return { store: tested.store, beginSync }
}

describe('audiences in a file', () => {
  test('are removed in parts, with other work in between', async () => {
    const { store, beginSync } = await largeAudience()
    const order: string[] = []
    const removal = store.audiences.remove({ key: 'vip' }).then(() => order.push('removal'))
    await beginSync()
    order.push('other work')
    await removal
    expect(order).toEqual(['other work', 'removal'])
  })

  const list = [member('a', '1'), member('\0b', '"\ud800"')]

  test('are kept when the file is opened again, but no sync continues', async () => {
    const path = await newPath()
    const before = await opened(path)
    await before.sync(list)
    const unfinished = await before.store.audiences.begin({ audience: vip, nowMs })
    await before.end()

    const after = await opened(path)
    expect(await after.audience()).toEqual({
      ...vip,
      members: 2,
      createdAtMs: nowMs,
      syncedAtMs: nowMs,
    })
    const sync = 'sync' in unfinished ? unfinished.sync : 0
    const plan = { changes: [], events: [] }
    const request = { key: 'vip', sync, nowMs, seenSinceMs: 0, plan }
    const released = await after.store.audiences.release({ ...request, rowsMax: 9, after: null })
    expect(released).toEqual({ kind: 'superseded' })
    expect(await after.members()).toHaveLength(2)
    await after.sync(list)
    expect(await after.calls()).toEqual(list)
    await after.end()
  })

  test('can be read while a process syncs them', async () => {
    const path = await newPath()
    const tested = await opened(path)
    const log = await SqliteLog.open(path, { write: false })
    onTestFinished(() => log.close())
    expect(await log.audiences.list()).toEqual([])
    const sync = await tested.beginSync()
    await sync.take(...list)
    expect(await log.audiences.list()).toEqual(await tested.store.audiences.list())
    const page = { key: 'vip', limit: 1, after: null }
    const first = await log.audiences.members(page)
    expect(first).toEqual(await tested.store.audiences.members(page))
    const next = { ...page, after: first[0]!.identity }
    expect([...first, ...(await log.audiences.members(next))]).toEqual(
      await tested.store.audiences.members({ ...page, limit: 9 }),
    )
    await log.close()
    await expect(log.audiences.list()).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('are not changed by a waiting part once another sync has begun', async () => {
    const tested = await opened(await newPath())
    await tested.sync(list)
    const sync = await tested.beginSync()
    const [first, , second] = await Promise.all([
      sync.tryTake(member('a', '1')),
      tested.beginSync(),
      sync.tryTake(member('a', '2')),
    ])
    expect([first.kind, second.kind]).toEqual(['taken', 'superseded'])
    expect(await tested.members()).toEqual(inOrder(list))
    await tested.end()
  })

  test('are not written if a list changes nothing', async () => {
    const path = await newPath()
    const tested = await opened(path)
    await tested.sync(list)
    const sync = await tested.beginSync()
    const written = (): number => statSync(`${path}-wal`).size
    const before = written()
    expect(await sync.take(...list)).toEqual(['unchanged', 'unchanged'])
    expect(written()).toBe(before)
  })

  test('have exactly the members with waiting calls after the syncing process is killed', async () => {
    const path = await newPath()
    const child = startSource(new URL('take-parts.ts', import.meta.url), [path])
    await once(child.stdout!, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')

    const tested = await opened(path)
    const kept = await tested.members()
    expect(kept.length).toBeGreaterThanOrEqual(80)
    expect(kept.length % 20).toBe(0)
    const ids = kept.map(({ identity }) => identity.userId!)
    const calls = await tested.store.list({ filter: {}, limit: 1_000_000 })
    expect(calls.map(({ userId }) => userId)).toHaveLength(kept.length)
    expect(calls.map(({ messageId }) => messageId.slice('call of '.length)).toSorted()).toEqual(
      ids.toSorted(),
    )
    const next = await tested.beginSync()
    expect(await next.take(...kept, member('new'))).toEqual([
      ...kept.map(() => 'unchanged'),
      'entered',
    ])
    expect(await next.finish()).toEqual([])
    await tested.end()
  })
})

test('ListedMembers contains exactly the numbers that were added', () => {
  const listed = new ListedMembers()
  const numbers = [0, 7, 8, 32_767, 32_768, 65_536, 2 ** 31, 2 ** 40 + 1]
  for (const number of numbers) {
    expect(listed.has(number)).toBe(false)
    listed.add(number)
    listed.add(number)
    expect(listed.has(number)).toBe(true)
  }
  const others = numbers.flatMap((number) => [number - 1, number + 1, number + 32_768 * 4])
  for (const number of others.filter((other) => other >= 0 && !numbers.includes(other))) {
    expect(listed.has(number), `${number}`).toBe(false)
  }
})
