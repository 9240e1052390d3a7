import { describe, expect, test } from 'vitest'
import { shortText } from '../../src/model/index.ts'
import { readBy, refusalOf } from './refusal-of.ts'

const cursorOf = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a page of members', () => {
  test('has the first 50 by default', () => {
    expect(readBy('get /audiences/{key}', {})).toEqual({ value: { limit: 50 } })
  })

  test('continues after the cursor', () => {
    const after = { userId: 'ü_1', anonymousId: null, email: 'ann@example.com' }
    const query = { limit: '500', after: cursorOf(after) }
    expect(readBy('get /audiences/{key}', query)).toEqual({ value: { limit: 500, after } })
  })

  test.each<[query: object, message: string]>([
    [{ limit: '501' }, 'limit: Cannot use "501": it must be a whole number from 1 to 500'],
    [{ before: 'x' }, 'before: Cannot use this name: it must be one of limit, after'],
    ...[
      'u_1',
      cursorOf(null),
      cursorOf(['u_1']),
      cursorOf({ userId: 'u_1' }),
      cursorOf({ userId: 1, anonymousId: null, email: null }),
    ].map((after): [query: object, message: string] => [
      { after },
      `after: Cannot use ${shortText(`"${after}"`)}: it must be the "next" of a page`,
    ]),
  ])('is refused for %j', (query, message) => {
    expect(refusalOf('get /audiences/{key}', query)).toBe(message)
  })
})

describe('a sync request', () => {
  test.each([
    [{ name: ['a', 'b'] }, 'name: Cannot use a list: it must be a single string'],
    [
      { key: 'a', class: 'Audience' },
      'class: Cannot use "Audience": it must be one of audience, trait',
    ],
    [{ key: 'a', dryRun: 'false' }, 'dryRun: Cannot use "false": it must be true, or left out'],
    [{ key: 'a', dryRun: '' }, 'dryRun: Cannot use "": it must be true, or left out'],
    [
      { key: 'a', userId: 'id' },
      'userId: Cannot use this name: it must be one of name, key, class, source, idColumn, ' +
        'valueColumn, dryRun',
    ],
  ])('is refused for %j', (query, message) => {
    expect(refusalOf('post /audiences/sync', query)).toBe(message)
  })
})

test('a removal can only be a dry run', () => {
  expect(refusalOf('post /audiences/{key}/remove', { name: 'a' })).toBe(
    'name: Cannot use this name: it must be one of dryRun',
  )
})
