import { shortText, nearestName } from '../model/index.ts'
import { bodyRoots, fieldNames, isFieldName, type Field, type FieldName } from './field.ts'
import { matchLimits } from './limits.ts'
import type { Scanner, Written } from './scanner.ts'

/** A field as it is written, split into keys at the dots. */
export interface WrittenField {
  /** The keys; at least one. */
  readonly keys: readonly Written[]
  /** Where the field begins. */
  readonly offset: number
  /** The length of the field. */
  readonly length: number
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

/** The names accepted before a colon, for people. */
export const acceptedFields: string = `Fields are ${fieldNames.join(', ')}, has, larger, ${[...bodyRoots, 'body'].map((root) => `${root}.<key>`).join(', ')}, or a key of the body in quotes`

/** Reads the keys of a field, which may turn out to be a word. */
export function readKeys(scanner: Scanner): WrittenField {
  const offset = scanner.at
  const keys = [scanner.read(/[.:,"]/)]
  while (scanner.take('.')) keys.push(scanner.read(/[.:,"]/))
  return { keys, offset, length: scanner.at - offset }
}

/** Returns a key as it appears in a body. An asterisk in it is a plain character. */
export function keyOf({ glob }: Written): string {
  return glob.join('*')
}

/**
 * Returns the field that a text names. `body`, `properties`, `traits` and `context` without a key are valid only
 * after `has:`.
 *
 * @throws MatchError if there is no such field
 */
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
  if (first.isQuoted) return { kind: 'body', keys: keys.map(keyOf) }
  const root = otherRoots.get(keyOf(first)) ?? keyOf(first)
  if (root === 'body') return { kind: 'body', keys: inner.map(keyOf) }
  if (bodyRoots.includes(root)) return { kind: 'body', keys: [root, ...inner.map(keyOf)] }
  const name = otherNames.get(root) ?? root
  if (!isFieldName(name)) return scanner.fail(first, unknown(root), adviceFor(root, inner))
  if (inner.length === 0) return { kind: 'named', name }
  return scanner.fail(
    written,
    `${name} has no keys`,
    `Write ${name} alone, or body.${root}.<key> for a member of the body.`,
  )
}

function unknown(name: string): string {
  return `there is no field ${shortText(name, 40)}`
}

function adviceFor(name: string, inner: readonly Written[]): string {
  const roots = [...bodyRoots, ...otherRoots.keys(), 'body']
  const names = [...fieldNames, 'has', 'larger', ...otherNames.keys()]
  const near = nearestName(name, inner.length === 0 ? [...names, ...roots] : roots)
  const isKey = near === undefined && inner.length === 0 && /^\w{1,40}$/.test(name)
  const meant = isKey ? `properties.${name}, traits.${name} or body.${name}` : near
  return `${meant === undefined ? '' : `Did you mean ${meant}? `}${acceptedFields}.`
}
