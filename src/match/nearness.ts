import type { JsonValue } from '../model/index.ts'
import { valuesOf } from './field.ts'
import { isTypeTerm, termHolds, type Match, type Term } from './match.ts'
import type { Subject } from './subject.ts'
import type { ValueTest } from './value-test.ts'

const comparedMax = 200

/** The score of a request that is not a webhook: enough for a report to name it, but less than any similar webhook. */
const malformedScore = 0.01

/**
 * Scores how similar a request is to a match; 0 if nothing is similar. The right type outweighs all other terms
 * together.
 */
export function nearness(match: Match, subject: Subject): number {
  let sum = subject.body === null ? malformedScore : 0
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
  // A wrong value is better than an absent one, but never as good as a right one.
  return values.length === 0 ? 0 : 0.2 + 0.7 * Math.max(...likenesses)
}

/** Scores from 0 to 1 how similar a value is to the expected text; 0 if either is not a text. */
function likeness(test: ValueTest, value: JsonValue): number {
  const expected = expectedTextOf(test)
  if (expected === undefined || typeof value !== 'string') return 0
  const longest = Math.max(expected.length, value.length)
  if (longest === 0) return 1
  const equal = equalCount(expected, value, 'start') + equalCount(expected, value, 'end')
  return Math.min(equal, longest) / longest
}

function expectedTextOf(test: ValueTest): string | undefined {
  if (test.kind === 'glob') return test.glob.join('')
  return test.kind === 'equal' && typeof test.value === 'string' ? test.value : undefined
}

function equalCount(one: string, other: string, side: 'start' | 'end'): number {
  const countMax = Math.min(one.length, other.length, comparedMax)
  for (let count = 0; count < countMax; count += 1) {
    const at = side === 'start' ? count : -1 - count
    if (one.at(at) !== other.at(at)) return count
  }
  return countMax
}
