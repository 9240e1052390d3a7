import { describe, expect, test } from 'vitest'
import { SubjectIds } from '../../src/store/subject-ids.ts'

describe('SubjectIds', () => {
  const subjects = new SubjectIds(['42', 'ada@example.com', 'u\ud800', ''])

  test.each([
    ['42', true],
    ['order-42', true],
    ['42/order', true],
    ['order 42, again', true],
    ['a42', false],
    ['421', false],
    ['4', false],
    ['xada@example.comx', true],
    ['ada@example.co', false],
    ['u\ud800-1', true],
    ['', false],
  ])('says of %j whether it names one: %s', (text, isNamed) => {
    expect(subjects.areNamedIn(text)).toBe(isNamed)
  })

  test('has those it was given', () => {
    expect(['42', '4', 'u\ud800', ''].map((id) => subjects.has(id))).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})
