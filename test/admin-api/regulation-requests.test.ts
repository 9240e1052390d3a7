import { expect, test } from 'vitest'
import { regulationTypes } from '../../src/model/index.ts'
import { readBy, refusalOf } from './refusal-of.ts'

const ids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `u_${index}`)

const good = { regulationType: 'SUPPRESS_ONLY', subjectIds: ['u_1'] }
const subjects = 'a list of 1 to 5000 strings of 1 to 32768 characters'
const sources = 'a list of 1 to 1000 strings of 1 to 32768 characters'
const names = 'regulationType, subjectType, subjectIds, sources'

test.each(regulationTypes)('a regulation can have the type %s', (regulationType) => {
  const body = { ...good, regulationType }
  expect(readBy('post /regulations', body)).toEqual({ value: body })
})

test('a regulation can name 5000 users and some of the sources', () => {
  const subjectIds = ids(5_000)
  const body = { ...good, subjectType: 'USER_ID', subjectIds, sources: ['website', 'app'] }
  expect(readBy('post /regulations', body)).toEqual({ value: body })
})

test.each<[name: string, body: unknown, message: string]>([
  [
    'an unknown type of subject',
    { ...good, subjectType: 'OBJECT_ID' },
    'subjectType: Cannot use "OBJECT_ID": it must be USER_ID',
  ],
  [
    'an unknown type',
    { ...good, regulationType: 'DELETE' },
    `regulationType: Cannot use "DELETE": it must be one of ${regulationTypes.join(', ')}`,
  ],
  [
    'missing fields',
    undefined,
    `regulationType: Cannot be left out: it must be one of ${regulationTypes.join(', ')}; ` +
      `subjectIds: Cannot be left out: it must be ${subjects}`,
  ],
  [
    'a user instead of a list',
    { ...good, subjectIds: 'u_1' },
    `subjectIds: Cannot use "u_1": it must be ${subjects}`,
  ],
  [
    'no users',
    { ...good, subjectIds: [] },
    `subjectIds: Cannot use an empty list: it must be ${subjects}`,
  ],
  [
    'too many users',
    { ...good, subjectIds: ids(5_001) },
    `subjectIds: Cannot use a list: it must be ${subjects}`,
  ],
  [
    'numbers instead of users',
    { ...good, subjectIds: Array.from({ length: 5_000 }, (_, index) => index) },
    `subjectIds: Cannot use 0: it must be ${subjects}`,
  ],
  [
    'an empty id',
    { ...good, subjectIds: ['u_1', ''] },
    `subjectIds: Cannot use "": it must be ${subjects}`,
  ],
  [
    'an id that is too long',
    { ...good, subjectIds: ['u'.repeat(32_768), 'v'.repeat(32_769)] },
    `subjectIds: Cannot use "${'v'.repeat(58)}…: it must be ${subjects}`,
  ],
  [
    'no sources',
    { ...good, sources: [] },
    `sources: Cannot use an empty list: it must be ${sources}`,
  ],
  [
    'too many sources',
    { ...good, sources: ids(1_001) },
    `sources: Cannot use a list: it must be ${sources}`,
  ],
  [
    'an unknown field',
    { ...good, source: 'website' },
    `source: Cannot use this name: it must be one of ${names}`,
  ],
  [
    'a list as the body',
    [good],
    'the body: Cannot use a list: it must be an object, such as ' +
      '{"regulationType":"SUPPRESS_WITH_DELETE","subjectIds":["u_1"]}',
  ],
])('a regulation is refused for %s', (_name, body, message) => {
  expect(refusalOf('post /regulations', body)).toBe(message)
})

test('a list of regulations is split into pages', () => {
  expect(readBy('get /regulations', {})).toEqual({ value: { limit: 50 } })
  expect(readBy('get /regulations', { limit: '500', before: 'reg_1' })).toEqual({
    value: { limit: 500, before: 'reg_1' },
  })
  expect(refusalOf('get /regulations', { limit: '0', after: 'reg_1' })).toBe(
    'limit: Cannot use "0": it must be a whole number from 1 to 500; ' +
      'after: Cannot use this name: it must be one of limit, before',
  )
})
