import { describe, expect, test } from 'vitest'
import { identity, leaver, member, type AudiencesUnderTest } from './audience-store-under-test.ts'

/** Tests which members enter, change, stay and leave. */
export function listsSuite(tested: AudiencesUnderTest): void {
  describe('a list', () => {
    findsDifferences(tested)
    handlesRepetitions(tested)
  })
}

function findsDifferences(tested: AudiencesUnderTest): void {
  const abc = ['a', 'b', 'c'].map((userId) => member(userId))

  test('makes every member enter if it is the first', async () => {
    const sync = await tested.beginSync()
    expect(await sync.take(...abc)).toEqual(['entered', 'entered', 'entered'])
    expect(await sync.finish()).toEqual([])
    expect(await tested.calls()).toEqual(abc)
    expect(await tested.members()).toEqual(abc)
    expect(await tested.audience()).toMatchObject({ members: 3 })
  })

  test('sends a call for each member that joined or left since the previous list', async () => {
    await tested.sync(abc)
    await tested.calls()
    const sync = await tested.beginSync()
    expect(await sync.take(member('d'), member('b'))).toEqual(['entered', 'unchanged'])
    const released = await sync.finish()
    expect(released.map(({ userId }) => userId).toSorted()).toEqual(['a', 'c'])
    const [first, ...others] = await tested.calls()
    expect(first).toEqual(member('d'))
    expect(others).toEqual(released.map((identity) => ({ identity, value: null })))
    expect(await tested.members()).toEqual([member('b'), member('d')])
    expect(await tested.audience()).toMatchObject({ members: 2 })
  })

  test('sends the members whose value changed', async () => {
    const audience = { computationClass: 'trait' as const }
    await tested.sync([member('a', '1'), member('b', '"x"'), member('c', '{"n":1}')], { audience })
    await tested.calls()
    const sync = await tested.beginSync({ audience })
    const list = [member('a', '"1"'), member('b', '"x"'), member('c', '{"n":2}')]
    expect(await sync.take(...list)).toEqual(['changed', 'unchanged', 'changed'])
    await sync.finish()
    expect(await tested.calls()).toEqual([list[0], list[2]])
    expect(await tested.members()).toEqual(list)
    expect(await tested.audience()).toMatchObject({ members: 3 })
  })

  test('stores and sends every value unchanged', async () => {
    const values = ['"\ud800"', '"a\0b"', '"\u001a0000"', '""', '0', `"${'x'.repeat(40_000)}"`]
    const list = values.map((value, index) => member(`u_${index}`, value))
    await tested.sync(list)
    expect(await tested.members()).toEqual(list)
    expect(await tested.calls()).toEqual(list)
    const sync = await tested.beginSync()
    expect(await sync.take(...list)).toEqual(list.map(() => 'unchanged'))
  })

  test('sends nothing if it equals the previous list', async () => {
    await tested.sync(abc)
    await tested.calls()
    const sync = await tested.beginSync()
    expect(await sync.take(...abc.toReversed())).toEqual(abc.map(() => 'unchanged'))
    expect(await sync.finish()).toEqual([])
    expect(await tested.calls()).toEqual([])
    expect(await tested.audience()).toMatchObject({ members: 3 })
  })

  test('makes every member leave if it is empty', async () => {
    await tested.sync(abc)
    await tested.calls()
    const sync = await tested.beginSync()
    expect(await sync.take()).toEqual([])
    expect(await sync.finish(2)).toHaveLength(3)
    const calls = await tested.calls()
    expect(calls).toHaveLength(3)
    expect(calls).toEqual(expect.arrayContaining([leaver('a'), leaver('b'), leaver('c')]))
    expect(await tested.members()).toEqual([])
    expect(await tested.audience()).toMatchObject({ members: 0 })
  })

  test('makes a former member enter again', async () => {
    await tested.sync(abc)
    await tested.sync([])
    await tested.calls()
    await tested.sync([member('b')])
    expect(await tested.calls()).toEqual([member('b')])
  })

  test('does not affect other audiences', async () => {
    const [one, two] = [await tested.beginSync(), await tested.beginSync({ audience: pair })]
    expect(await one.take(member('a'), member('b'))).toEqual(['entered', 'entered'])
    expect(await two.take(member('b', '5'))).toEqual(['entered'])
    expect(await one.finish()).toEqual([])
    expect(await two.take(member('c', '6'))).toEqual(['entered'])
    expect(await two.finish()).toEqual([])
    await tested.sync([member('b')])
    expect(await tested.members()).toEqual([member('b')])
    expect(await tested.members(pair.key)).toEqual([member('b', '5'), member('c', '6')])
    const { members } = await tested.audience(pair.key)
    expect(members).toBe(2)
  })

  const pair = { key: 'spent', computationClass: 'trait' as const, sourceId: 'app' }
}

function handlesRepetitions(tested: AudiencesUnderTest): void {
  test('keeps the first of several values that it has for a member in one part', async () => {
    await tested.sync([member('kept', '1'), member('changed', '1')])
    await tested.calls()
    const sync = await tested.beginSync()
    const lines = ['new 1', 'new 1', 'new 2', 'kept 1', 'kept 1', 'kept 2']
    const more = ['changed 2', 'changed 1', 'changed 2', 'new 1']
    expect(await sync.take(...[...lines, ...more].map(memberOf))).toEqual([
      'entered',
      'repeated',
      'contradicted',
      'unchanged',
      'repeated',
      'contradicted',
      'changed',
      'contradicted',
      'repeated',
      'repeated',
    ])
    expect(await sync.finish()).toEqual([])
    expect(await tested.calls()).toEqual(['new 1', 'changed 2'].map(memberOf))
    const expected = ['changed 2', 'kept 1', 'new 1'].map(memberOf)
    expect(await tested.members()).toEqual(expected)
  })

  test('keeps the first of several values that it has for a member in different parts', async () => {
    await tested.sync([member('kept', '1'), member('changed', '1')])
    await tested.calls()
    const sync = await tested.beginSync()
    await sync.take(...['new 1', 'kept 1', 'changed 2'].map(memberOf))
    const again = ['new 1', 'kept 1', 'changed 2'].map(memberOf)
    expect(await sync.take(...again)).toEqual(['repeated', 'repeated', 'repeated'])
    const others = ['new 2', 'kept 2', 'changed 1'].map(memberOf)
    expect(await sync.take(...others)).toEqual(['contradicted', 'contradicted', 'contradicted'])
    await sync.finish()
    expect(await tested.calls()).toEqual(['new 1', 'changed 2'].map(memberOf))
  })

  test('can arrive in concurrent parts', async () => {
    const sync = await tested.beginSync()
    const parts = Array.from({ length: 8 }, () => sync.take(member('a'), member('b', '1')))
    const outcomes = (await Promise.all(parts)).flat()
    expect(outcomes.filter((outcome) => outcome === 'entered')).toHaveLength(2)
    expect(outcomes.filter((outcome) => outcome === 'repeated')).toHaveLength(14)
    await sync.finish()
    expect(await tested.calls()).toHaveLength(2)
    expect(await tested.audience()).toMatchObject({ members: 2 })
  })

  test('makes a member leave only once, even by concurrent releases', async () => {
    await tested.sync([member('a')])
    await tested.calls()
    const sync = await tested.beginSync()
    const parts = await Promise.all([
      sync.release({ rowsMax: 1 }),
      sync.release({ rowsMax: 1 }),
      sync.release({ rowsMax: 1 }),
    ])
    const released = parts.flatMap((part) => (part.kind === 'released' ? part.left : []))
    expect(released).toEqual([identity({ userId: 'a' })])
    expect(await tested.calls()).toEqual([leaver('a')])
  })
}

/** Parses a member from its userId and value, such as `new 1`. */
function memberOf(text: string): ReturnType<typeof member> {
  const [userId = '', value] = text.split(' ')
  return member(userId, value)
}
