import type { JsonValue } from '../model/index.ts'
import { valuesOf } from './field.ts'
import { isTypeTerm, termHolds, type Match, type Term } from './match.ts'
import type { Subject } from './subject.ts'
import type { ValueTest } from './value-test.ts'

/** How many characters at each end of two texts are compared. */
const comparedMax = 200

/**
 * Measures how near a request comes to a match, so that requests can be compared; 0 if no term holds. The right type
 * outweighs everything else. Next comes the number of terms that hold, then how similar the texts of the others are.
 */
export function nearness(match: Match, subject: Subject): number {
  let sum = 0
  for (const term of match.terms) {
    const isTypeRight = isTypeTerm(term) && termHolds(term, subject)
    sum += isTypeRight ? match.terms.length + 1 : termNearness(term, subject)
  }
  return sum
}

function termNearness(term: Term, subject: Subject): number {
  if (termHolds(term, subject)) return 1
  if (term.isNegated) return 0
  const values = valuesOf(term.field, subject)
  const likenesses = values.flatMap((value) => term.tests.map((test) => likeness(test, value)))
  // A wrong value is nearer than an absent one, but never as near as a right one.
  return values.length === 0 ? 0 : 0.2 + 0.7 * Math.max(...likenesses)
}

/** Measures how similar two texts are, from 0 to 1; 0 if one is not a text. */
function likeness(test: ValueTest, value: JsonValue): number {
  const expected = expectedTextOf(test)
  if (expected === undefined || typeof value !== 'string') return 0
  const longest = Math.max(expected.length, value.length)
  if (longest === 0) return 1
  const before = alikeAtStart(expected, value)
  const after = alikeAtEnd(expected, value)
  return Math.min(before + after, longest) / longest
}

function expectedTextOf(test: ValueTest): string | undefined {
  if (test.kind === 'glob') return test.glob.join('')
  return test.kind === 'equal' && typeof test.value === 'string' ? test.value : undefined
}

function alikeAtStart(one: string, other: string): number {
  const end = Math.min(one.length, other.length, comparedMax)
  let length = 0
  while (length < end && one[length] === other[length]) length += 1
  return length
}

function alikeAtEnd(one: string, other: string): number {
  const end = Math.min(one.length, other.length, comparedMax)
  let length = 0
  while (length < end && one.at(-1 - length) === other.at(-1 - length)) length += 1
  return length
}
