import { isJsonObject, type JsonValue } from '../model/index.ts'
import { globMatches, type Glob } from './glob.ts'

/** An operator that compares numbers. */
export type Comparison = '>=' | '<=' | '>' | '<'

type Compare = (number: number, limit: number) => boolean

/** How a number can be compared with a limit. `>=` comes before `>`, so that a parser can try them in order. */
export const comparisons: Readonly<Record<Comparison, Compare>> = Object.freeze({
  '>=': (number, limit) => number >= limit,
  '<=': (number, limit) => number <= limit,
  '>': (number, limit) => number > limit,
  '<': (number, limit) => number < limit,
})

/** A test of one value. `text` describes it, in the match language if possible. */
export type ValueTest = { readonly text: string } & (
  | { readonly kind: 'present' }
  | { readonly kind: 'glob'; readonly glob: Glob }
  | { readonly kind: 'word'; readonly glob: Glob }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'range'; readonly bounds: readonly (readonly [Comparison, number])[] }
  | { readonly kind: 'equal'; readonly value: string | number | boolean | null }
  | {
      readonly kind: 'accepted'
      /** Never throws. */
      readonly accepts: (value: JsonValue) => boolean
    }
  | { readonly kind: 'items'; readonly items: readonly ValueTest[] }
  | { readonly kind: 'members'; readonly members: readonly MemberTest[] }
)

/** The test of an object's member. It is undefined if the member must be absent. */
export type MemberTest = readonly [key: string, test: ValueTest | undefined]

/** Whether a value passes a test. `present` holds for every value, because absent values are not tested. */
export function valueHolds(test: ValueTest, value: JsonValue): boolean {
  switch (test.kind) {
    case 'present':
      return true
    case 'glob':
      return globHolds(test.glob, value)
    case 'word':
      return typeof value === 'string' && globMatches(test.glob, value.toLowerCase())
    case 'number':
      return numberHolds(test, value)
    case 'range': {
      const number = numberIn(value)
      if (number === undefined) return false
      return test.bounds.every(([operator, limit]) => comparisons[operator](number, limit))
    }
    case 'equal':
      return value === test.value
    case 'accepted':
      return test.accepts(value)
    case 'items':
      return itemsHold(test.items, value)
    case 'members':
      return membersHold(test.members, value)
  }
}

/** With an asterisk, a glob also matches numbers and booleans. Without one, it matches only strings. */
function globHolds(glob: Glob, value: JsonValue): boolean {
  if (typeof value === 'string') return globMatches(glob, value)
  if (glob.length === 1 || (typeof value !== 'number' && typeof value !== 'boolean')) return false
  return globMatches(glob, String(value))
}

/** Compares numbers. Compares a large number in a string by its digits, because parsing rounds above 2^53. */
function numberHolds(
  { value: expected, text }: { readonly value: number; readonly text: string },
  value: JsonValue,
): boolean {
  if (typeof value === 'string' && Math.abs(expected) > Number.MAX_SAFE_INTEGER) {
    return value === text
  }
  return numberIn(value) === expected
}

/** Reads a number, or a string that is a number, because clients often send revenues as strings. */
function numberIn(value: JsonValue): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? parseNumber(value) : undefined
}

/** Parses a number as JSON does; undefined if it is too large, and for any other text, such as `007` or `0x7`. */
export function parseNumber(text: string): number | undefined {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

function itemsHold(tests: readonly ValueTest[], value: JsonValue): boolean {
  if (!Array.isArray(value) || value.length !== tests.length) return false
  const items = value as readonly JsonValue[]
  return tests.every((test, index) => {
    const item = items[index]
    return item !== undefined && valueHolds(test, item)
  })
}

function membersHold(members: readonly MemberTest[], value: JsonValue): boolean {
  if (!isJsonObject(value)) return false
  return members.every(([key, test]) => {
    const member = Object.hasOwn(value, key) ? value[key] : undefined
    return test === undefined
      ? member === undefined
      : member !== undefined && valueHolds(test, member)
  })
}
