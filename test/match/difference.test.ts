import { describe, expect, test } from 'vitest'
import { difference, differenceText, matchOf, parseMatch } from '../../src/match/index.ts'
import { columnsOf } from '../../src/model/index.ts'
import { group, order, subject } from './subjects.ts'

describe('difference', () => {
  test('tells a value that must not be "present" from a field that must be absent', () => {
    const match = parseMatch('-event:present -has:userId')
    const rows = difference(match, subject({ event: 'present', userId: 'u_1' }))
    expect(rows.map(({ expected }) => expected)).toEqual(['not present', 'absent'])
  })

  test('has a row for every term, in order', () => {
    const match = parseMatch(
      'type:track event:"Order Complet*" properties.revenue:>100,10..20 -sig:valid has:context.ip ' +
        '-has:context.ip has:properties.missing properties.coupon:"x" traits.plan:pro cart path:/a',
    )
    expect(difference(match, subject(order, { path: '/hook?a=b' }))).toEqual([
      { field: 'type', expected: 'track', received: 'track', holds: true },
      { field: 'event', expected: '"Order Complet*"', received: '"Order Completed"', holds: true },
      {
        field: 'properties.revenue',
        expected: '>100 or 10..20',
        received: '"39.95"',
        holds: false,
      },
      { field: 'sig', expected: 'not valid', received: 'valid', holds: false },
      { field: 'context.ip', expected: 'present', received: '"10.0.0.7"', holds: true },
      { field: 'context.ip', expected: 'absent', received: '"10.0.0.7"', holds: false },
      { field: 'properties.missing', expected: 'present', received: 'absent', holds: false },
      { field: 'properties.coupon', expected: 'x', received: 'null', holds: false },
      { field: 'traits.plan', expected: 'pro', received: 'absent', holds: false },
      {
        field: 'text',
        expected: 'cart',
        received: 'track, "Order Completed"',
        holds: false,
      },
      { field: 'path', expected: '/a', received: '"/hook?a=b"', holds: false },
    ])
  })

  test('has a row for every member of an expected object', () => {
    const match = matchOf({ type: 'group', traits: { plan: /^free/, 'Company Size': 10 } })
    expect(difference(match, subject(group))).toEqual([
      { field: 'type', expected: 'group', received: 'group', holds: true },
      { field: 'traits.plan', expected: '/^free/', received: 'pro', holds: false },
      { field: 'traits."Company Size"', expected: '10', received: '250', holds: false },
    ])
    expect(difference(matchOf({}), subject(null))).toEqual([
      { field: 'body', expected: '{}', received: 'absent', holds: false },
    ])
  })

  test('has short texts without control characters', () => {
    const [row] = difference(
      parseMatch('traits.a:x'),
      subject({ traits: { a: `\u202e${'b'.repeat(100_000)}` } }),
    )
    expect(row?.received).toBe(`"${'b'.repeat(198)}…`)
    const [named] = difference(parseMatch('event:x'), subject({ event: '\u001b[31mred\n' }))
    expect(named?.received).toBe('"red "')
  })
})

test('a request without an answer has no status', () => {
  const unanswered = subject(order, { status: null })
  expect(parseMatch('-status:200').test(unanswered)).toBe(true)
  expect(difference(parseMatch('status:0'), unanswered)).toMatchObject([
    { received: 'absent', holds: false },
  ])
})

describe('differenceText', () => {
  const rows = [
    { field: 'type', expected: 'track', received: 'track', holds: true },
    { field: 'event', expected: '"Order Completed"', received: '"Order Completd"', holds: false },
    { field: 'properties.revenue', expected: '>10', received: '"9.5"', holds: false },
  ]

  test('shows both sides and marks the differences', () => {
    expect(differenceText(rows)).toBe(
      [
        '                      expected           received',
        '  type                track              track',
        '! event               "Order Completed"  "Order Completd"',
        '! properties.revenue  >10                "9.5"',
      ].join('\n'),
    )
  })

  test.each([40, 41, 60, 80, 200])('is limited to %d columns', (width) => {
    const long = [
      ...rows,
      {
        field: 'f'.repeat(200),
        expected: 'e'.repeat(200),
        received: 'r'.repeat(200),
        holds: false,
      },
    ]
    const lines = differenceText(long, width).split('\n')
    expect(lines).toHaveLength(5)
    expect(Math.max(...lines.map((line) => line.length))).toBe(width)
    expect(lines[4]).toMatch(/^! f+…? {2}e+… {2}r+…$/)
  })

  test('needs 40 columns', () => {
    expect(differenceText(rows, 1)).toBe(differenceText(rows, 40))
  })

  test('gives one column the width that the other does not need', () => {
    const [, line] = differenceText([{ ...rows[0]!, expected: 'e'.repeat(50) }], 80).split('\n')
    expect(line).toBe(`  type  ${'e'.repeat(50)}  track`)
  })

  test('stays aligned with double-width characters', () => {
    const wide = {
      field: 'event',
      expected: '注文完了しました',
      received: '注文取消',
      holds: false,
    }
    expect(differenceText([...rows.slice(0, 1), wide])).toBe(
      [
        '         expected          received',
        '  type   track             track',
        '! event  注文完了しました  注文取消',
      ].join('\n'),
    )
    const long = { ...wide, expected: '注'.repeat(60), received: '文'.repeat(60) }
    expect(differenceText([long], 60).split('\n').map(columnsOf)).toEqual([43, 60])
  })
})
