import { types } from 'node:util'
import { SettingError, shortText, type JsonValue } from '../model/index.ts'
import { fieldLabel, fieldText, type Field } from './field.ts'
import { globText } from './glob.ts'
import { Match, matchLimits, termText, type Term } from './match.ts'
import type { MemberTest, ValueTest } from './value-test.ts'

/** Tests a value of a body. A truthy result accepts it; an error refuses it. May take only some types of values. */
export type ValuePredicate = {
  /** A method, because TypeScript allows a narrower parameter in a method, but not in a function. */
  accepts(value: JsonValue): unknown
}['accepts']

/** A matcher of vitest or jest, such as `expect.any(Number)`. */
export interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean
}

/** An expected value in a body. `undefined` requires the member to be absent. */
export type ExpectedValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | RegExp
  | ValuePredicate
  | AsymmetricMatcher
  | readonly ExpectedValue[]
  | ExpectedBody

/** An expected body. Members that it leaves out may have any value. */
export interface ExpectedBody {
  readonly [key: string]: ExpectedValue
}

/**
 * Makes a match from an expected body.
 *
 * Objects may have more members than expected. Arrays must have exactly as many items. The number 10 does not match the
 * string `"10"`. Regular expressions test strings, and predicates test any value. Accepts matchers of vitest and jest.
 *
 * ```ts
 * matchOf({ type: 'track', properties: { revenue: (revenue: number) => revenue > 10 } })
 * ```
 *
 * @throws SettingError `invalid_setting` for a value that no body can have
 */
export function matchOf(expected: ExpectedBody): Match {
  if (!isPlainObject(expected)) throw unusable([], 'it is not a plain object')
  const terms = termsOf(expected, [])
  const texts = terms.map((term) => termText(term, fieldLabel(term.field)))
  return new Match(terms, texts.join(' '))
}

const textCharactersMax = 200

/** Writes a term that requires a value. Objects, lists and long texts need only be present. */
export function conditionText(keys: readonly string[], value: JsonValue | undefined): string {
  const label = fieldText({ kind: 'body', keys })
  const isShort = typeof value === 'string' && value.length <= textCharactersMax
  if (isShort) return `${label}:${globText([value])}`
  const isScalar = value === null || typeof value === 'number' || typeof value === 'boolean'
  return isScalar ? `${label}:${JSON.stringify(value)}` : `has:${label}`
}

const predicateCharactersMax = 80

/** Makes one term per expected value, so that a difference shows which member is wrong. */
function termsOf(expected: ExpectedBody, keys: readonly string[]): readonly Term[] {
  const entries = Object.entries(expected)
  if (entries.length === 0) return [{ field: field(keys), isNegated: false, tests: [anyObject] }]
  return entries.flatMap(([key, value]) => {
    const inner = [...keys, key]
    checkDepth(inner)
    if (isPlainObject(value) && !isMatcher(value)) return termsOf(value, inner)
    const isNegated = value === undefined
    const test: ValueTest = isNegated ? present : termTest(value, inner)
    return [{ field: field(inner), isNegated, tests: [test] }]
  })
}

/** Makes the test of a term. If the value is a string, failures show it as the match language writes it. */
function termTest(value: ExpectedValue, keys: readonly string[]): ValueTest {
  const test = testOf(value, keys)
  return typeof value === 'string' ? { ...test, text: globText([value]) } : test
}

const present: ValueTest = { kind: 'present', text: 'present' }
const anyObject: ValueTest = { kind: 'members', members: [], text: '{}' }

function field(keys: readonly string[]): Field {
  return { kind: 'body', keys }
}

/** Makes the test of a value. Copies the value, so that later changes to it have no effect. */
function testOf(value: ExpectedValue, keys: readonly string[]): ValueTest {
  checkDepth(keys)
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return { kind: 'equal', value, text: JSON.stringify(value) }
    case 'number':
      if (!Number.isFinite(value)) throw unusable(keys, `JSON has no ${value}`)
      return { kind: 'equal', value, text: JSON.stringify(value) }
    case 'function':
      if (types.isAsyncFunction(value)) throw unusable(keys, 'a predicate cannot be async')
      return { kind: 'accepted', accepts: safely(value), text: predicateText(value, keys) }
    case 'object':
      return value === null ? { kind: 'equal', value, text: 'null' } : objectTest(value, keys)
    case 'undefined':
    case 'bigint':
    case 'symbol':
      throw unusable(keys, `JSON has no ${typeof value}`)
  }
}

/** Returns a predicate's name, or its source if it has none. Ignores the name that JavaScript takes from the key. */
function predicateText(predicate: ValuePredicate, keys: readonly string[]): string {
  if (predicate.name !== '' && predicate.name !== keys.at(-1)) return predicate.name
  const source = Function.prototype.toString.call(predicate)
  return shortText(source.replaceAll(/\s+/g, ' '), predicateCharactersMax)
}

function objectTest(
  value: RegExp | AsymmetricMatcher | readonly ExpectedValue[] | ExpectedBody,
  keys: readonly string[],
): ValueTest {
  if (types.isRegExp(value)) return patternTest(value)
  if (isList(value)) {
    const items = value.map((item, index) => testOf(item, [...keys, String(index)]))
    return { kind: 'items', items, text: `[${items.map(({ text }) => text).join(', ')}]` }
  }
  if (isMatcher(value)) {
    const accepts = safely((received) => value.asymmetricMatch(received))
    return { kind: 'accepted', accepts, text: matcherText(value) }
  }
  if (!isPlainObject(value)) throw unusable(keys, 'it is not a plain object, an array or a string')
  const members = Object.entries(value).map(([key, member]): MemberTest => [
    key,
    member === undefined ? undefined : testOf(member, [...keys, key]),
  ])
  const texts = members.map(([key, test]) => `${JSON.stringify(key)}: ${test?.text ?? 'absent'}`)
  return { kind: 'members', members, text: `{${texts.join(', ')}}` }
}

function patternTest(pattern: RegExp): ValueTest {
  // With the flags g and y, each test would start where the last one stopped.
  const regExp = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  const accepts = (value: JsonValue): boolean => typeof value === 'string' && regExp.test(value)
  return { kind: 'accepted', accepts, text: String(pattern) }
}

/** Wraps a predicate. If it throws, for example because a member is missing, the value is refused. */
function safely(predicate: ValuePredicate): (value: JsonValue) => boolean {
  return (value) => {
    try {
      return Boolean(predicate(value))
    } catch {
      return false
    }
  }
}

function isList(value: object): value is readonly ExpectedValue[] {
  return Array.isArray(value)
}

function isMatcher(value: object): value is AsymmetricMatcher {
  return 'asymmetricMatch' in value && typeof value.asymmetricMatch === 'function'
}

function matcherText(matcher: AsymmetricMatcher): string {
  // Matchers from vitest and jest describe themselves, as in `Any<Number>`. Other objects don't.
  const { toAsymmetricMatcher } = matcher as { toAsymmetricMatcher?: unknown }
  const text: unknown =
    typeof toAsymmetricMatcher === 'function' ? toAsymmetricMatcher.call(matcher) : undefined
  return typeof text === 'string' ? text : 'a matcher'
}

/** Whether an object is a literal or a result of `JSON.parse`, even from another realm. */
function isPlainObject(value: unknown): value is ExpectedBody {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Refuses deep nesting, which includes objects that contain themselves. */
function checkDepth(keys: readonly string[]): void {
  const { keysMax } = matchLimits
  if (keys.length > keysMax) throw unusable(keys, `it is more than ${keysMax} levels deep`)
}

function unusable(keys: readonly string[], reason: string): SettingError {
  const label = fieldLabel(field(keys))
  return new SettingError(
    label,
    `Cannot expect ${label}: ${reason}`,
    'Expect strings, numbers, booleans, null, undefined, arrays and objects of them, regular expressions or predicates.',
  )
}
