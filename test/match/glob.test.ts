import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { globMatches, globText } from '../../src/match/glob.ts'
import { parseMatch } from '../../src/match/index.ts'
import { subject } from './subjects.ts'

/** Defines what a glob means, without regard to speed. */
function means(pattern: string, text: string): boolean {
  const [first, ...rest] = Array.from(pattern)
  if (first === undefined) return text === ''
  if (first !== '*') return text.startsWith(first) && means(rest.join(''), text.slice(first.length))
  return Array.from({ length: text.length + 1 }, (_, start) => text.slice(start)).some((end) =>
    means(rest.join(''), end),
  )
}

describe('globMatches', () => {
  test('agrees with the definition', () => {
    const few = fc.constantFrom('a', 'b', '*')
    fc.assert(
      fc.property(
        fc.string({ unit: few, maxLength: 7 }),
        fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 9 }),
        (pattern, text) => {
          expect(globMatches(pattern.split('*'), text)).toBe(means(pattern, text))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test('matches every text it was derived from', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), fc.string(), (pieces, between) => {
        expect(globMatches(pieces, pieces.join(between))).toBe(true)
      }),
    )
  })

  test('is fast with patterns that would make backtracking exponential', () => {
    const text = 'a'.repeat(1_000_000)
    const pattern = `${'a*'.repeat(900)}b`
    expect(globMatches(pattern.split('*'), `${text}c`)).toBe(false)
    expect(globMatches(pattern.split('*'), `${text}b`)).toBe(true)
    expect(globMatches(`*${'ab*'.repeat(600)}`.split('*'), text)).toBe(false)
  })
})

test('globText writes text that is parsed as the same glob', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 4 }), (glob) => {
      const [term] = parseMatch(`event:${globText(glob)}`).terms
      expect(term?.tests).toEqual([{ kind: 'glob', glob, text: globText(glob) }])
      expect(parseMatch(`context.a:${globText(glob)}`).terms[0]?.tests).toEqual(term?.tests)
    }),
  )
})

test('an asterisk after a backslash is literal', () => {
  const stars = parseMatch('event:\\**\\*')
  expect(stars.test(subject({ type: 'track', event: '*a*' }))).toBe(true)
  expect(stars.test(subject({ type: 'track', event: 'aa*' }))).toBe(false)
})
