import { describe, expect, test } from 'vitest'
import { leaver, member, type AudiencesUnderTest } from './audience-store-under-test.ts'
import { nowMs } from './store-under-test.ts'

const superseded = { kind: 'superseded' }

/** Tests syncs that are interrupted or superseded. */
export function interruptionsSuite(tested: AudiencesUnderTest): void {
  describe('a sync', () => {
    stops(tested)
    isSuperseded(tested)
  })
}

function stops(tested: AudiencesUnderTest): void {
  const list = ['a', 'b', 'c', 'd'].map((userId) => member(userId))

  test('keeps the changes that it made before an interruption, and the next sync makes the rest', async () => {
    await tested.sync([member('a'), member('x')])
    expect(await tested.calls()).toHaveLength(2)
    const stopped = await tested.beginSync()
    await stopped.take(...list.slice(0, 2))
    expect(await tested.calls()).toEqual([list[1]])
    expect(await tested.members()).toEqual([list[0], list[1], member('x')])
    expect(await tested.audience()).toMatchObject({ members: 3 })

    const next = await tested.beginSync({ atMs: nowMs + 9 })
    expect(await next.take(...list)).toEqual(['unchanged', 'unchanged', 'entered', 'entered'])
    await next.finish()
    expect(await tested.calls()).toEqual([list[2], list[3], leaver('x')])
    expect(await tested.members()).toEqual(list)
    expect(await tested.audience()).toMatchObject({ members: 4, syncedAtMs: nowMs + 9 })
  })

  test('is not complete if it stops while members leave, and the next sync removes the rest', async () => {
    await tested.sync(list)
    await tested.calls()
    const stopped = await tested.beginSync({ atMs: nowMs + 5 })
    await stopped.take(list[0]!)
    const part = await stopped.release({ rowsMax: 2 })
    expect(part).toMatchObject({ kind: 'released' })
    expect(await tested.audience()).toMatchObject({ syncedAtMs: nowMs })
    const removals = await tested.calls()

    const next = await tested.beginSync({ atMs: nowMs + 9 })
    await next.take(list[0]!)
    await next.finish(1)
    const calls = [...removals, ...(await tested.calls())]
    expect(calls).toHaveLength(3)
    expect(calls).toEqual(expect.arrayContaining([leaver('b'), leaver('c'), leaver('d')]))
    expect(await tested.members()).toEqual([list[0]])
    expect(await tested.audience()).toMatchObject({ members: 1, syncedAtMs: nowMs + 9 })
  })

  test('ignores which members an interrupted sync has listed', async () => {
    const stopped = await tested.beginSync()
    await stopped.take(member('a'), member('b'))
    await tested.calls()
    const next = await tested.beginSync()
    expect(await next.take(member('a'))).toEqual(['unchanged'])
    await next.finish()
    expect(await tested.calls()).toEqual([leaver('b')])
  })

  test('checks a bounded number of members per release, and each member once', async () => {
    const many = Array.from({ length: 25 }, (_, index) => member(`u_${index}`))
    await tested.sync(many)
    await tested.calls()
    const sync = await tested.beginSync()
    const staying = many.filter((_, index) => index % 3 === 0)
    await sync.take(...staying)
    let after = null
    let looks = 0
    do {
      const part = await sync.release({ rowsMax: 4, after })
      if (part.kind !== 'released') throw new Error('the sync is over')
      expect(part.left.length).toBeLessThanOrEqual(4)
      after = part.next
      looks++
    } while (after !== null && looks < 30)
    expect(looks).toBeGreaterThanOrEqual(7)
    expect(looks).toBeLessThan(30)
    expect(await tested.calls()).toHaveLength(25 - staying.length)
    expect(await tested.audience()).toMatchObject({ members: staying.length })
  })
}

function isSuperseded(tested: AudiencesUnderTest): void {
  test('is superseded when another sync of its audience begins', async () => {
    await tested.sync([member('a')])
    const first = await tested.beginSync()
    await first.take(member('b'))
    await tested.calls()
    const second = await tested.beginSync()
    expect(await first.tryTake(member('c'))).toEqual(superseded)
    expect(await first.release()).toEqual(superseded)
    expect(await tested.calls()).toEqual([])
    expect(await tested.members()).toEqual([member('a'), member('b')])
    expect(await second.take(member('b'))).toEqual(['unchanged'])
    expect(await first.tryTake(member('a'))).toEqual(superseded)
    await second.finish()
    expect(await tested.calls()).toEqual([leaver('a')])
  })

  test('continues when a sync of a different audience begins', async () => {
    const sync = await tested.beginSync()
    await tested.sync([member('a')], { audience: { key: 'other' } })
    expect(await sync.take(member('a'))).toEqual(['entered'])
    expect(await sync.finish()).toEqual([])
  })

  test('supersedes the syncs that began concurrently before it', async () => {
    const syncs = await Promise.all([1, 2, 3].map(() => tested.beginSync()))
    const results = await Promise.all(syncs.map((sync) => sync.tryTake(member('a'))))
    expect(results.map(({ kind }) => kind)).toEqual(['superseded', 'superseded', 'taken'])
    expect(await tested.calls()).toEqual([member('a')])
  })

  test('changes nothing more once it is complete', async () => {
    const sync = await tested.beginSync()
    await sync.take(member('a'))
    await sync.finish()
    await tested.calls()
    expect(await sync.tryTake(member('b'))).toEqual(superseded)
    expect(await sync.release()).toEqual(superseded)
    expect(await tested.members()).toEqual([member('a')])
  })

  test('is superseded when its audience is removed, even if the audience is created again', async () => {
    const sync = await tested.beginSync()
    await sync.take(member('a'))
    await tested.store.audiences.remove({ key: 'vip' })
    expect(await sync.tryTake(member('b'))).toEqual(superseded)
    const anew = await tested.beginSync()
    expect(await sync.tryTake(member('b'))).toEqual(superseded)
    expect(await sync.release()).toEqual(superseded)
    expect(await anew.take(member('a'))).toEqual(['entered'])
    expect(await tested.members()).toEqual([member('a')])
  })

  test('is superseded if its audience does not exist', async () => {
    const { audiences } = tested.store
    const plan = { changes: [], events: [] }
    const request = { key: 'none', sync: 1, nowMs, seenSinceMs: 0, plan }
    expect(await audiences.take({ ...request, members: [member('a')] })).toEqual(superseded)
    expect(await audiences.release({ ...request, rowsMax: 1, after: null })).toEqual(superseded)
    expect(await audiences.list()).toEqual([])
  })
}
