import { expect, test } from 'vitest'
import { SourceDirectory } from '../../src/tracking-api/index.ts'

const directory = new SourceDirectory([
  { id: 'website', writeKeys: ['wk_old', 'wk_new'] },
  { id: 'app', writeKeys: ['wk_äpp'] },
  { id: 'keyless', writeKeys: [] },
])

test.each([
  ['wk_old', 'website'],
  ['wk_new', 'website'],
  ['wk_äpp', 'app'],
  ['wk_ol', undefined],
  ['wk_olde', undefined],
  ['WK_OLD', undefined],
  ['', undefined],
  ['__proto__', undefined],
  ['x'.repeat(100_000), undefined],
])('%s is of %s', (writeKey, source) => {
  expect(directory.find(writeKey)?.id).toBe(source)
})

test('a look-up costs one digest, however many keys there are', () => {
  const secondsOf = (keys: number): number => {
    const writeKeys = Array.from({ length: keys }, (_, index) => `wk_${index}`)
    const many = new SourceDirectory([{ id: 'website', writeKeys }])
    const before = process.cpuUsage()
    for (let round = 0; round < 2_000; round++) many.find(`wk_${round % keys}`)
    const { user, system } = process.cpuUsage(before)
    // Linux measures only their sum. It estimates each part, and at times all of it is `system`.
    return user + system
  }
  // Comparing each key took 4.6 ms a look-up, hundreds of times as long.
  expect(secondsOf(10_000)).toBeLessThan(20 * secondsOf(10))
})

test('the directory does not show its keys when it is printed', () => {
  expect(JSON.stringify(directory)).toBe('{}')
})
