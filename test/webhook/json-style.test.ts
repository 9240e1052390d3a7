import { expect, test } from 'vitest'
import { tokensOf, writeJson } from '../../src/webhook/json-style.ts'

const style = { comma: ', ', colon: ': ', indent: 4 } as const

test('an indented body is formatted as by JSON.stringify', () => {
  expect(writeJson(tokensOf('{"a":[1,{"b":{}}]}'), style)).toBe(
    JSON.stringify({ a: [1, { b: {} }] }, undefined, 4),
  )
})

test('a deeply nested body is not indented, because that would multiply its size', () => {
  const deep = `${'['.repeat(4_000)}1${']'.repeat(4_000)}`
  expect(writeJson(tokensOf(deep), style)).toBeUndefined()
  const wide = `${'['.repeat(100)}${'1,'.repeat(100_000)}1${']'.repeat(100)}`
  expect(writeJson(tokensOf(wide), style)).toBeUndefined()
})
