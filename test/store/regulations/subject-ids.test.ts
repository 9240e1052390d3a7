import { describe, expect, test } from 'vitest'
import { SubjectIds } from '../../../src/store/regulations/subject-ids.ts'

describe('SubjectIds', () => {
  const subjects = new SubjectIds(['42', 'ada@example.com', 'u_345678', 'u_34567', 'u\ud800', ''])

  test.each([
    ['42', true],
    ['order-42', false],
    ['42/order', false],
    ['a42', false],
    ['4', false],
    ['ada@example.com', true],
    ['xada@example.comx', true],
    ['ada@example.co', false],
    ['order-u_345678', true],
    ['order-u_34567', false],
    ['u_34567', true],
    ['u\ud800', true],
    ['u\ud800-1', false],
    ['', false],
  ])('recognises whether %j contains one: %s', (text, isNamed) => {
    expect(subjects.areNamedIn(text)).toBe(isNamed)
  })

  test('contains exactly the given ids', () => {
    expect(['42', '4', 'u\ud800', ''].map((id) => subjects.has(id))).toEqual([
      true,
      false,
      true,
      true,
    ])
  })
})
