import { expect, test } from 'vitest'
import { tokensOf, writeJson } from '../../src/webhook/json-style.ts'

const style = { comma: ', ', colon: ': ', indent: 4 } as const

test('an indented body looks as a person would write it', () => {
  expect(writeJson(tokensOf('{"a":[1,{"b":{}}]}'), style)).toBe(
    JSON.stringify({ a: [1, { b: {} }] }, undefined, 4),
  )
})

test('a body is not indented where that would multiply the size of a deep one', () => {
  const deep = `${'['.repeat(4_000)}1${']'.repeat(4_000)}`
  expect(writeJson(tokensOf(deep), style)).toBeUndefined()
  const wide = `${'['.repeat(100)}${'1,'.repeat(100_000)}1${']'.repeat(100)}`
  expect(writeJson(tokensOf(wide), style)).toBeUndefined()
})
