import { expect, test } from 'vitest'
import { SummaryMemory } from '../../../src/receiver/index.ts'

const plan = (text: string): readonly { key: string; text: string }[] => [{ key: 'plan', text }]

test('compares values with those it saw before', () => {
  const memory = new SummaryMemory()
  expect(memory.see('u_1', plan('free'))).toEqual([
    { key: 'plan', text: 'free', before: undefined },
  ])
  expect(memory.see('u_1', plan('pro'))).toEqual([{ key: 'plan', text: 'pro', before: 'free' }])
  expect(memory.see('u_2', plan('pro'))).toEqual([{ key: 'plan', text: 'pro', before: undefined }])
})

test('forgets the user it has not seen for longest', () => {
  const memory = new SummaryMemory(2)
  memory.see('u_1', plan('free'))
  memory.see('u_2', plan('free'))
  memory.see('u_1', plan('free'))
  memory.see('u_3', plan('free'))
  expect(memory.size).toBe(2)
  expect(memory.see('u_1', plan('pro'))[0]?.before).toBe('free')
  expect(memory.see('u_2', plan('pro'))[0]?.before).toBeUndefined()
})

test('remembers 64 traits of one user, and keeps reporting their changes', () => {
  const memory = new SummaryMemory()
  const traits = Array.from({ length: 70 }, (_, index) => ({ key: `trait_${index}`, text: 'a' }))
  memory.see('u_1', traits)
  const seen = memory.see(
    'u_1',
    traits.map(({ key }) => ({ key, text: 'b' })),
  )
  expect(seen.filter(({ before }) => before === 'a')).toHaveLength(64)
  expect(memory.see('u_1', [{ key: 'trait_0', text: 'c' }])[0]?.before).toBe('b')
})

test('follows a chain of a hundred aliases, and forgets the oldest if there are too many', () => {
  const memory = new SummaryMemory(200)
  for (let at = 0; at < 100; at++) memory.alias(`u_${at}`, `u_${at + 1}`)
  expect(memory.knownAs('u_0')).toBe('u_100')
  for (let at = 0; at < 199; at++) memory.alias(`anon_${at}`, 'u_x')
  expect(memory.knownAs('u_0')).toBe('u_0')
  expect(memory.knownAs('u_99')).toBe('u_100')
})
