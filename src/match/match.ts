import type { JsonValue } from '../model/index.ts'
import { fieldText, valuesOf, type Field } from './field.ts'
import { signatureWords, type Subject } from './subject.ts'
import { valueHolds, type ValueTest } from './value-test.ts'

/** Limits on a match: far above practical use, but low enough that testing a match is fast. */
export const matchLimits = Object.freeze({
  textMax: 2_000,
  termsMax: 50,
  /** Maximum number of keys in a field such as `context.page.path`, and of levels in an expected object. */
  keysMax: 32,
  countMax: 1_000_000_000,
})

/** One condition: some value of the field passes one of the tests. Negated: no value passes any. */
export interface Term {
  readonly field: Field
  /** A negated term also holds if the field is absent. */
  readonly isNegated: boolean
  readonly tests: readonly ValueTest[]
}

/** A condition on requests: terms that must all hold. Made by `parseMatch` from text, by `matchOf` from an object. */
export class Match {
  readonly terms: readonly Term[]
  /**
   * The match as text. If the match was made from an object, `parseMatch` may be unable to read the text, for example
   * because of a predicate.
   */
  readonly text: string

  constructor(terms: readonly Term[], text?: string) {
    this.terms = terms
    this.text = text ?? terms.map((term) => termText(term)).join(' ')
  }

  test(subject: Subject): boolean {
    return this.terms.every((term) => termHolds(term, subject))
  }
}

/** Whether a term holds for a request. A term that is only a word holds if any text in the request contains it. */
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

/** Writes a term in the match language, or with a different label for its field. */
export function termText({ field, isNegated, tests }: Term, label = fieldText(field)): string {
  const sign = isNegated ? '-' : ''
  if (tests.some(({ kind }) => kind === 'present')) return `${sign}has:${label}`
  const values = tests.map(({ text }) => text).join(',')
  return field.kind === 'word' ? `${sign}${values}` : `${sign}${label}:${values}`
}

/** Whether any text of a request contains a word. `*` holds for every request with a body. */
function wordHolds(test: ValueTest, subject: Subject): boolean {
  if (test.text === '*') return subject.body !== null
  for (const text of textsOf(subject)) if (valueHolds(test, text)) return true
  return false
}

/** Yields the texts that a person may search for: those in the body, and those that a list of requests shows. */
function* textsOf({ body, signature, status, reason, forward }: Subject): Generator<string> {
  // Skip the top-level keys, because they are the same in all bodies.
  for (const value of Object.values(body ?? {}) as readonly JsonValue[]) yield* textsIn(value)
  if (reason === undefined) return
  if (body === null) yield 'no webhook'
  yield signatureWords[signature]
  yield status === null ? 'no answer' : String(status)
  if (reason !== null) yield reason
  if (forward) yield String(forward.status ?? forward.error)
}

/** Yields the keys and values inside a value. Does not recurse, because a body can be nested deeply. */
function* textsIn(start: JsonValue): Generator<string> {
  const pending: JsonValue[] = [start]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value !== 'object') yield String(value)
    else if (value !== null) {
      if (!Array.isArray(value)) yield* Object.keys(value)
      for (const inner of Object.values(value) as readonly JsonValue[]) pending.push(inner)
    }
  }
}
