import { describe, expect, it } from 'vitest'
import type { ComputationClass } from '../../src/audience/index.ts'
import { cellValue, MemberFields, type MemberColumns } from '../../src/audience/member-fields.ts'
import { SettingError, type JsonObject } from '../../src/model/index.ts'
import { nested } from '../intake/support.ts'

interface Reading {
  readonly columns?: Partial<MemberColumns>
  readonly computationClass?: ComputationClass
  readonly header?: readonly string[]
}

function fieldsOf({ columns, computationClass = 'audience', header }: Reading): MemberFields {
  const fields = new MemberFields({ userIds: [], value: undefined, ...columns }, computationClass)
  if (header !== undefined) fields.readHeader(header)
  return fields
}

/** The member that a row names: `[userId, anonymousId, email, value]`, or the error code. */
function read(row: JsonObject, reading: Reading = {}): unknown {
  const read = fieldsOf(reading).read(row)
  if (read.kind === 'rejected') return read.code
  return read.members.map(({ identity: { userId, anonymousId, email }, value }) => [
    userId,
    anonymousId,
    email,
    value,
  ])
}

function messageOf(row: JsonObject, reading: Reading = {}): string {
  const read = fieldsOf(reading).read(row)
  return read.kind === 'rejected' ? read.message : 'not rejected'
}

function refusal(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    if (error instanceof SettingError) return [error.setting, error.message]
    throw error
  }
  return undefined
}

describe('the identifiers of a row', () => {
  it('use the first of userId, user_id and id that is present, even if it is null', () => {
    expect(read({ id: 'x', userId: 'u1', user_id: 'y' })).toEqual([['u1', null, null, 'true']])
    expect(read({ id: 'x', user_id: 7 })).toEqual([['7', null, null, 'true']])
    expect(read({ id: 'x' })).toEqual([['x', null, null, 'true']])
    expect(read({ id: 'x', userId: null })).toBe('no_user_anon_id')
  })

  it('are taken only from the configured columns', () => {
    const columns = { userIds: ['customer', 'legacy'] }
    expect(read({ customer: 'c1', legacy: ['l1', 'l2'], userId: 'x' }, { columns })).toEqual([
      ['c1', null, null, 'true'],
      ['l1', null, null, 'true'],
      ['l2', null, null, 'true'],
    ])
    expect(read({ userId: 'x' }, { columns })).toBe('no_user_anon_id')
  })

  it('include every anonymousId and email', () => {
    expect(
      read({ userId: ['u1', 'u2'], anonymous_id: 'a1', email: ['e1', 'e2'], name: 'A' }),
    ).toEqual([
      ['u1', 'a1', 'e1', 'true'],
      ['u1', 'a1', 'e2', 'true'],
      ['u2', 'a1', 'e1', 'true'],
      ['u2', 'a1', 'e2', 'true'],
    ])
    expect(read({ anonymousId: 'a1', email: 'e1' })).toEqual([[null, 'a1', 'e1', 'true']])
    expect(read({ email: 'e1' })).toBe('no_user_anon_id')
  })

  it('are texts or numbers, and make at most 100 members', () => {
    expect(read({ userId: true })).toBe('wrong_type')
    expect(read({ userId: ['u1', {}] })).toBe('wrong_type')
    expect(read({ userId: 'u1', email: {} })).toBe('wrong_type')
    expect(read({ userId: 2 ** 53 })).toBe('wrong_type')
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    expect(read({ userId: numbers, email: ['e1', 'e2'] })).toHaveLength(100)
    expect(messageOf({ userId: numbers, email: ['e1', 'e2', 'e3'] })).toBe(
      'The identifiers in the row produce 150 members, but at most 100 are allowed',
    )
  })

  it('are trimmed in a CSV', () => {
    const header = ['userId', 'email']
    expect(read({ userId: ' u1 ', email: ' ' }, { header })).toEqual([['u1', null, null, 'true']])
    expect(read({ userId: ' u1 ', email: ' ' })).toEqual([[' u1 ', null, ' ', 'true']])
  })
})

describe('the value of a computed trait', () => {
  const trait = { computationClass: 'trait' } as const

  it('is the JSON value', () => {
    expect(read({ id: 'u1', value: { a: [1, 'b'] } }, trait)).toEqual([
      ['u1', null, null, '{"a":[1,"b"]}'],
    ])
    for (const value of [0, false, '', 'text', '7']) {
      expect(read({ id: 'u1', value }, trait)).toEqual([['u1', null, null, JSON.stringify(value)]])
    }
  })

  it('is taken from the configured column', () => {
    const columns = { value: 'revenue' }
    expect(read({ id: 'u1', value: 1, revenue: 2 }, { ...trait, columns })).toEqual([
      ['u1', null, null, '2'],
    ])
  })

  it('may be absent: the row then names no user', () => {
    expect(read({ id: 'u1', value: null }, trait)).toEqual([])
    expect(read({ id: 'u1' }, trait)).toEqual([])
    expect(read({ id: 'u1', value: '' }, { ...trait, header: ['id', 'value'] })).toEqual([])
  })

  it('is limited to 8 KB and a nesting depth', () => {
    expect(read({ id: 'u1', value: 'x'.repeat(8_190) }, trait)).toHaveLength(1)
    expect(messageOf({ id: 'u1', value: 'x'.repeat(8_191) }, trait)).toBe(
      'value must not be larger than 8192 bytes',
    )
    const value = nested(501) as JsonObject
    expect(read({ id: 'u1', value }, trait)).toBe('wrong_type')
  })

  it('is ignored for an audience', () => {
    expect(read({ id: 'u1', value: false })).toEqual([['u1', null, null, 'true']])
  })
})

describe('the value of a cell', () => {
  it.each([
    ['1', 1],
    ['-2.5', -2.5],
    ['450.00', 450],
    ['1e3', 1000],
    ['0.10', 0.1],
    ['9007199254740991', 2 ** 53 - 1],
    ['true', true],
    ['false', false],
    ['', undefined],
    [' ', undefined],
  ])('%j is read as %j', (text, value) => {
    expect(cellValue(text)).toBe(value)
  })

  it.each([
    ...['01234', '+1', '1.', '.5', ' 1', '1,5', '0x10', 'NaN', 'Infinity', '1e400', '1e-400'],
    ...['9007199254740992', '9007199254740993', '12345678901234567890', '0.12345678901234567890'],
    ...['True', 'null', 'a b', '{"a":1}', `0.${'0'.repeat(40)}1`],
  ])('%j stays a text', (text) => {
    expect(cellValue(text)).toBe(text)
  })
})

describe('configured columns', () => {
  it('must be in the header of a CSV', () => {
    const read = (reading: Reading, header: readonly string[]): unknown =>
      refusal(() => fieldsOf(reading).readHeader(header))
    expect(read({}, ['name', 'email'])).toEqual([
      'idColumn',
      'The list has no column userId, user_id, id, anonymousId or anonymous_id: it has "name", "email"',
    ])
    expect(read({}, ['anonymous_id'])).toBeUndefined()
    expect(read({ columns: { userIds: ['id', 'uid'] } }, ['id'])).toEqual([
      'idColumn',
      'The list has no column "uid": it has "id"',
    ])
    const trait = 'trait'
    expect(read({ computationClass: trait }, ['id', 'revenue'])).toEqual([
      'valueColumn',
      'The list has no column "value": it has "id", "revenue"',
    ])
    expect(
      read({ computationClass: trait, columns: { value: 'revenue' } }, ['id', 'revenue']),
    ).toBe(undefined)
    expect(read({ columns: { value: 'revenue' } }, ['id'])).toBeUndefined()
  })

  it('must be in at least one row of JSON', () => {
    const end = (reading: Reading, ...rows: readonly JsonObject[]): unknown => {
      const fields = fieldsOf(reading)
      for (const row of rows) fields.read(row)
      return refusal(() => fields.readEnd())
    }
    const trait = { computationClass: 'trait' } as const
    expect(end(trait, { id: 'u1' }, { id: 'u2', value: 1 })).toBeUndefined()
    expect(end(trait)).toBeUndefined()
    expect(end(trait, { id: 'u1', valeu: 1 })).toEqual([
      'valueColumn',
      'The list has no column "value": it has "id", "valeu"',
    ])
    expect(end({ columns: { userIds: ['id', 'uid'] } }, { id: 'u1' })).toEqual([
      'idColumn',
      'The list has no column "uid": it has "id"',
    ])
  })
})
