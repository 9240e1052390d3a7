import { shortText, nearestName, type TextRange } from '../model/index.ts'
import { bodyRoots, fieldNames, isFieldName, type Field, type FieldName } from './field.ts'
import { matchLimits } from './match.ts'
import type { Scanner, Written } from './scanner.ts'

/** A field as it was written, split at the dots into one or more keys. */
export interface WrittenField extends TextRange {
  readonly keys: readonly Written[]
}

/** Other names for fields: their keys in a body, and a longer name for `sig`. */
const otherNames: ReadonlyMap<string, FieldName> = new Map([
  ['userId', 'user'],
  ['anonymousId', 'anonymous'],
  ['previousId', 'previous'],
  ['groupId', 'group'],
  ['messageId', 'id'],
  ['signature', 'sig'],
])

const otherRoots: ReadonlyMap<string, string> = new Map([['props', 'properties']])

/** The names that are accepted before a colon, for messages. */
export const acceptedFields: string = `Fields are ${fieldNames.join(', ')}, has, ${[...bodyRoots, 'body'].map((root) => `${root}.<key>`).join(', ')}, or a key of the body in quotes`

/** Reads the keys of a field. The caller must check for the colon, because text without a colon is a word. */
export function readKeys(scanner: Scanner): WrittenField {
  const offset = scanner.at
  const keys = [scanner.read(/[.:,"]/)]
  while (scanner.take('.')) keys.push(scanner.read(/[.:,"]/))
  return { keys, offset, length: scanner.at - offset }
}

/** Returns the field that a text names. Asterisks in keys are plain characters. Throws MatchError if none exists. */
export function fieldOf(written: WrittenField, scanner: Scanner): Field {
  const { keys } = written
  const [first, ...inner] = keys
  const empty = keys.find(({ length }) => length === 0)
  if (empty !== undefined || first === undefined) {
    return scanner.fail(empty ?? written, 'a key is missing here', `${acceptedFields}.`)
  }
  if (keys.length > matchLimits.keysMax) {
    scanner.fail(written, `more than ${matchLimits.keysMax} keys`, 'Use fewer keys.')
  }
  const innerKeys = inner.map(({ text }) => text)
  if (first.isQuoted) return { kind: 'body', keys: [first.text, ...innerKeys] }
  const root = otherRoots.get(first.text) ?? first.text
  if (root === 'body') return { kind: 'body', keys: innerKeys }
  if (bodyRoots.includes(root)) return { kind: 'body', keys: [root, ...innerKeys] }
  const name = otherNames.get(root) ?? root
  if (!isFieldName(name)) {
    const problem = `there is no field "${shortText(root, 40)}"`
    return scanner.fail(first, problem, adviceFor(root, inner))
  }
  if (inner.length === 0) return { kind: 'named', name }
  return scanner.fail(
    written,
    `"${name}" has no keys`,
    `Write ${name} without keys, or body.${root}.<key> for a member of the body.`,
  )
}

function adviceFor(name: string, inner: readonly Written[]): string {
  const roots = [...bodyRoots, ...otherRoots.keys(), 'body']
  const names = [...fieldNames, 'has', ...otherNames.keys()]
  const near = nearestName(name, inner.length === 0 ? [...names, ...roots] : roots)
  const isKey = near === undefined && inner.length === 0 && /^\w{1,40}$/.test(name)
  const meant = isKey ? `properties.${name}, traits.${name} or body.${name}` : near
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}${acceptedFields}.`
}
