import { fieldText, valuesOf, type Field } from './field.ts'
import type { Subject } from './subject.ts'
import { valueHolds, type ValueTest } from './value-test.ts'
import { wordHolds } from './words.ts'

/** One condition: a value of the field passes one of the tests; if negated, none does. */
export interface Term {
  /** The field that the term reads. */
  readonly field: Field
  /** Whether the condition is negated. A negated term holds for an absent field. */
  readonly isNegated: boolean
  /** The tests; a value has to pass one of them. */
  readonly tests: readonly ValueTest[]
}

/**
 * A condition on requests: one or more terms that must all hold. `parseMatch` makes it from text, `matchOf` from an
 * object.
 */
export class Match {
  /** The terms; at least one. */
  readonly terms: readonly Term[]
  /**
   * The match as text in the match language. If the match was made from an object, parts of the text may not be
   * parsable.
   */
  readonly text: string

  constructor(terms: readonly Term[], text?: string) {
    this.terms = terms
    this.text = text ?? terms.map(termText).join(' ')
  }

  /** Whether a request satisfies the match. */
  test(subject: Subject): boolean {
    return this.terms.every((term) => termHolds(term, subject))
  }
}

/** Whether a term holds for a request. */
export function termHolds({ field, isNegated, tests }: Term, subject: Subject): boolean {
  const isFound =
    field.kind === 'word'
      ? tests.some((test) => wordHolds(test, subject))
      : valuesOf(field, subject).some((value) => tests.some((test) => valueHolds(test, value)))
  return isFound !== isNegated
}

/** Whether a term selects requests by type. */
export function isTypeTerm({ field, isNegated }: Term): boolean {
  if (isNegated) return false
  return field.kind === 'named'
    ? field.name === 'type'
    : field.kind === 'body' && field.keys.length === 1 && field.keys[0] === 'type'
}

/** Writes a term in the match language, so that parsing it gives the same term. */
export function termText({ field, isNegated, tests }: Term): string {
  const sign = isNegated ? '-' : ''
  if (tests.some(({ kind }) => kind === 'present')) return `${sign}has:${fieldText(field)}`
  const values = tests.map(({ text }) => text).join(',')
  return field.kind === 'word' ? `${sign}${values}` : `${sign}${fieldText(field)}:${values}`
}
