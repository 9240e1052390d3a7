import { describe, expect, test } from 'vitest'
import { leaver, member, vip, type AudiencesUnderTest } from './audience-store-under-test.ts'
import { nowMs } from './store-under-test.ts'

/** Tests of `begin`, `list` and `remove`. */
export function audiencesSuite(tested: AudiencesUnderTest): void {
  describe('begin', () => begins(tested))
  describe('list', () => lists(tested))
  describe('remove', () => removes(tested))
}

function begins(tested: AudiencesUnderTest): void {
  const begin = (changes: Partial<typeof vip>, atMs = nowMs): ReturnType<Begin> =>
    tested.store.audiences.begin({ audience: { ...vip, ...changes }, nowMs: atMs })

  test('creates an audience that was never synced', async () => {
    const made = { ...vip, members: 0, createdAtMs: nowMs, syncedAtMs: null }
    expect(await begin({})).toMatchObject({ kind: 'begun', audience: made })
    expect(await tested.store.audiences.list()).toEqual([made])
  })

  test('keeps the computationId and the creation time of an audience, and updates its name', async () => {
    await tested.sync([member('u_1')])
    const again = await begin({ name: 'Best customers', computationId: 'c_other' }, nowMs + 5)
    const kept = { ...vip, name: 'Best customers', members: 1 }
    const audience = { ...kept, createdAtMs: nowMs, syncedAtMs: nowMs }
    expect(again).toMatchObject({ kind: 'begun', audience })
    expect(await tested.store.audiences.list()).toEqual([audience])
  })

  test.each([{ sourceId: 'app' }, { computationClass: 'trait' as const }])(
    'refuses the key of an audience with a different source or class: %j',
    async (other) => {
      const sync = await tested.beginSync()
      await sync.take(member('u_1'))
      const result = await begin({ ...other, name: 'Changed' }, nowMs + 5)
      expect(result).toEqual({ kind: 'taken', audience: await tested.audience() })
      expect(await tested.audience()).toMatchObject({ ...vip, members: 1 })
      expect(await sync.take(member('u_2'))).toEqual(['entered'])
      expect(await sync.finish()).toEqual([])
    },
  )

  test('gives every sync a different number, even after the audience was removed', async () => {
    const numbers: unknown[] = []
    for (const key of ['vip', 'vip', 'new', 'vip']) {
      if (numbers.length === 3) await tested.store.audiences.remove({ key })
      const begun = await begin({ key })
      numbers.push(begun.kind === 'begun' ? `${key} ${begun.sync}` : begun)
    }
    expect(new Set(numbers).size).toBe(4)
  })

  test('leaves the time of the last complete sync unchanged until the new sync is complete', async () => {
    const sync = await tested.beginSync({ atMs: nowMs + 1 })
    await sync.take(member('u_1'))
    expect(await tested.audience()).toMatchObject({ members: 1, syncedAtMs: null })
    await sync.finish()
    expect(await tested.audience()).toMatchObject({ createdAtMs: nowMs + 1, syncedAtMs: nowMs + 1 })
    await tested.sync([], { atMs: nowMs + 7 })
    expect(await tested.audience()).toMatchObject({ members: 0, syncedAtMs: nowMs + 7 })
  })
}

type Begin = AudiencesUnderTest['store']['audiences']['begin']

function lists(tested: AudiencesUnderTest): void {
  test('is empty in an empty store', async () => {
    expect(await tested.store.audiences.list()).toEqual([])
  })

  test('sorts audiences by key, whatever its characters', async () => {
    const keys = ['b', 'a', 'B', 'a_1', '__proto__', 'z\0', 'z', '\ud83d\ude00', '\ufffd', '\ud800']
    for (const key of keys) {
      await tested.sync([member('u_1')], { audience: { key, name: `Audience ${key}` } })
    }
    const listed = await tested.store.audiences.list()
    const ordered = ['B', '__proto__', 'a', 'a_1', 'b', 'z', 'z\0']
    expect(listed.map(({ key }) => key)).toEqual([...ordered, '\ud800', '\ud83d\ude00', '\ufffd'])
    expect(listed.map(({ name, key }) => name === `Audience ${key}`)).not.toContain(false)
    expect(listed.map(({ members }) => members)).toEqual(keys.map(() => 1))
  })
}

function removes(tested: AudiencesUnderTest): void {
  test('removes an audience and its members, without calls', async () => {
    await tested.sync([member('u_1'), member('u_2')])
    await tested.sync([member('u_1')], { audience: { key: 'other' } })
    await tested.calls()
    expect(await tested.store.audiences.remove({ key: 'vip' })).toBe(true)
    expect((await tested.store.audiences.list()).map(({ key }) => key)).toEqual(['other'])
    expect(await tested.members('vip')).toEqual([])
    expect(await tested.members('other')).toHaveLength(1)
    expect(await tested.calls()).toEqual([])
  })

  test('removes a large audience in several parts, and supersedes its sync', async () => {
    const list = Array.from({ length: 1_500 }, (_, index) => member(`u_${index}`))
    const sync = await tested.beginSync()
    for (let first = 0; first < list.length; first += 500) {
      await sync.take(...list.slice(first, first + 500))
    }
    await tested.sync([member('u_1')], { audience: { key: 'other' } })
    const removal = tested.store.audiences.remove({ key: 'vip' })
    const late = sync.tryTake(member('u_late'))
    expect(await removal).toBe(true)
    expect(await late).toEqual({ kind: 'superseded' })
    expect((await tested.store.audiences.list()).map(({ key }) => key)).toEqual(['other'])
    expect(await tested.members('vip')).toEqual([])
    expect(await tested.members('other')).toHaveLength(1)
  })

  test('returns false for an unknown audience', async () => {
    expect(await tested.store.audiences.remove({ key: 'vip' })).toBe(false)
  })

  test('lets a removed audience be created again', async () => {
    await tested.sync([member('u_1')])
    await tested.calls()
    await tested.store.audiences.remove({ key: 'vip' })
    const settings = { audience: { computationId: 'c_2', sourceId: 'app' }, atMs: nowMs + 3 }
    await tested.sync([member('u_1')], settings)
    expect(await tested.audience()).toMatchObject({
      computationId: 'c_2',
      sourceId: 'app',
      members: 1,
      createdAtMs: nowMs + 3,
    })
    expect(await tested.calls()).toEqual([member('u_1')])
    await tested.sync([], settings)
    expect(await tested.calls()).toEqual([leaver('u_1')])
  })
}
