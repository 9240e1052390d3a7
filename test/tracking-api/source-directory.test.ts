import { expect, test } from 'vitest'
import { SourceDirectory } from '../../src/tracking-api/index.ts'

const directory = new SourceDirectory([
  { source: 'website', writeKeys: ['wk_old', 'wk_new'] },
  { source: 'app', writeKeys: ['wk_äpp'] },
  { source: 'nobody', writeKeys: [] },
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
  expect(directory.find(writeKey)).toBe(source)
})

test('tells keys apart that come again, however many others came between', () => {
  const others = Array.from({ length: 1_000 }, (_, index) => `wk_${index}`)
  for (const keys of [['wk_old', 'nobody_has_it', 'wk_äpp'], others]) {
    const first = keys.map((writeKey) => directory.find(writeKey))
    expect(keys.map((writeKey) => directory.find(writeKey))).toEqual(first)
  }
  expect(['wk_old', 'nobody_has_it', 'wk_äpp'].map((key) => directory.find(key))).toEqual([
    'website',
    undefined,
    'app',
  ])
})

test('does not show its keys', () => {
  expect(JSON.stringify(directory)).toBe('{}')
})
