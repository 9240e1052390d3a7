import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const docs = resolve(import.meta.dirname, '../../docs')
const page = await readFile(resolve(docs, 'security.md'), 'utf8')

/** The files of tests that a part of the page links to. */
const linked = (text: string): readonly string[] =>
  [...text.matchAll(/\]\((?<path>\.\.\/test\/[^)]+)\)/g)].map(
    ({ groups }) => groups?.['path'] ?? '',
  )

/** The rows of the tables, whose last cell names tests. */
const promises = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| promise'))
  .map((line) => {
    const [, promise = '', , tests = ''] = line.split('|')
    return { promise: promise.trim(), tests: linked(tests) }
  })

test('there is a table of promises for each port and for webhooks', () => {
  expect(page.match(/^\| promise \| against \| test \|$/gm)).toHaveLength(4)
  expect(promises.length).toBeGreaterThan(20)
})

test.each(promises)('a test holds the promise: $promise', ({ tests }) => {
  expect(tests.filter((path) => path.endsWith('.test.ts'))).not.toEqual([])
})

test.each(linked(page).map((path) => ({ path })))('$path tests something', async ({ path }) => {
  const text = await readFile(resolve(docs, path), 'utf8')
  expect(text).toMatch(
    path.endsWith('.test.ts') ? /^\s*(?:test[.(]|describe[A-Z]\w*\()/m : /: PressureScenario = /,
  )
})
