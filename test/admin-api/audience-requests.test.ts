import { describe, expect, test } from 'vitest'
import {
  formatCursor,
  membersReader,
  removeReader,
  syncReader,
} from '../../src/admin-api/audience-requests.ts'
import { shortText } from '../../src/model/index.ts'
import { refusalOf } from './refusal-of.ts'

const cursorOf = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a page of members', () => {
  test('has the first 50 by default', () => {
    expect(membersReader.read({}, 0)).toEqual({ kind: 'read', value: { limit: 50, after: null } })
  })

  test('continues after the cursor', () => {
    const after = { userId: 'ü_1', anonymousId: null, email: 'ann@example.com' }
    const query = { limit: '500', after: formatCursor(after) }
    expect(query.after).toBe(cursorOf(after))
    expect(membersReader.read(query, 0)).toEqual({ kind: 'read', value: { limit: 500, after } })
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
    expect(refusalOf(membersReader.read(query, 0))).toBe(message)
  })
})

describe('a sync request', () => {
  test('is for an audience by default, not for a trait', () => {
    expect(syncReader.read({ name: 'Big Spenders' }, 0)).toEqual({
      kind: 'read',
      value: {
        name: 'Big Spenders',
        key: undefined,
        computationClass: 'audience',
        sourceId: undefined,
        columns: { userIds: [], value: undefined },
        isDryRun: false,
      },
    })
  })

  test('has a parameter for every setting', () => {
    const query = {
      key: 'ltv',
      class: 'trait',
      source: 'website',
      idColumn: ['id', 'alias'],
      valueColumn: 'amount',
      dryRun: 'true',
    }
    expect(syncReader.read(query, 0)).toEqual({
      kind: 'read',
      value: {
        name: undefined,
        key: 'ltv',
        computationClass: 'trait',
        sourceId: 'website',
        columns: { userIds: ['id', 'alias'], value: 'amount' },
        isDryRun: true,
      },
    })
    expect(syncReader.read({ key: 'ltv', idColumn: 'id' }, 0)).toMatchObject({
      value: { columns: { userIds: ['id'] } },
    })
  })

  test.each([
    [{}, 'No audience is given: give a name or a key'],
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
    expect(refusalOf(syncReader.read(query, 0))).toBe(message)
  })
})

test('a removal can be a dry run', () => {
  expect(removeReader.read({}, 0)).toEqual({ kind: 'read', value: { isDryRun: false } })
  expect(removeReader.read({ dryRun: 'true' }, 0)).toEqual({
    kind: 'read',
    value: { isDryRun: true },
  })
  expect(refusalOf(removeReader.read({ name: 'a' }, 0))).toBe(
    'name: Cannot use this name: it must be one of dryRun',
  )
})
