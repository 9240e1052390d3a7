import { isJsonObject, type JsonObject, type JsonValue } from '../model/index.ts'
import type { Subject } from './subject.ts'

/** What a term reads: a named field, a member of the body, or, for a `word`, every text of the request. */
export type Field =
  | { readonly kind: 'named'; readonly name: FieldName }
  | { readonly kind: 'body'; readonly keys: readonly string[] }
  | { readonly kind: 'word' }

/** Reads each named field. A term holds if any of the returned values matches. */
const readers = {
  type: ({ body }) => textsIn(body, ['type']),
  event: ({ body }) => textsIn(body, ['event']),
  // The body of an alias has one of these keys, or both with the same value.
  user: ({ body }) => textsIn(body, ['userId', 'User ID']).slice(0, 1),
  anonymous: ({ body }) => textsIn(body, ['anonymousId']),
  previous: ({ body }) => textsIn(body, ['Previous ID', 'previousId']).slice(0, 1),
  group: ({ body }) => textsIn(body, ['groupId']),
  id: ({ body }) => textsIn(body, ['messageId']),
  name: ({ body }) => textsIn(body, ['name']),
  category: ({ body }) => textsIn(body, ['category']),
  sig: ({ signature }) => [signature],
  status: ({ status }) => (status === null ? [] : [status]),
  path: ({ path }) => [...new Set([path.split('?', 1)[0] ?? '', path])],
  bytes: ({ bytes }) => [bytes],
} satisfies Readonly<Record<string, (subject: Subject) => readonly JsonValue[]>>

/** The fields of a request that the match language has a word for, such as `user` for `userId`. */
export type FieldName = keyof typeof readers

/** The named fields, in the order of the documentation. */
export const fieldNames: readonly FieldName[] = Object.freeze(
  Object.keys(readers) as readonly FieldName[],
)

/** Narrows the word before a colon to a named field. */
export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(readers, name)
}

/** Reads the values of a field; none if the field is absent. For a plain word, returns only type, event and name. */
export function valuesOf(field: Field, subject: Subject): readonly JsonValue[] {
  switch (field.kind) {
    case 'named':
      return readers[field.name](subject)
    case 'body': {
      const value = valueAt(subject.body ?? undefined, field.keys)
      return value === undefined ? [] : [value]
    }
    case 'word':
      return textsIn(subject.body, ['type', 'event', 'name'])
  }
}

/** Returns the members that are strings or numbers, as strings, because an id may be a number. */
function textsIn(body: JsonObject | null, keys: readonly string[]): readonly string[] {
  return keys
    .map((key) => valueAt(body ?? undefined, [key]))
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String)
}

function valueAt(start: JsonValue | undefined, keys: readonly string[]): JsonValue | undefined {
  let value = start
  for (const key of keys) value = memberOf(value, key)
  return value
}

/** Returns a member of an object or an item of a list. Ignores inherited properties such as `constructor`. */
function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (isJsonObject(value)) return Object.hasOwn(value, key) ? value[key] : undefined
  return Array.isArray(value) && /^(?:0|[1-9]\d*)$/.test(key)
    ? (value as readonly JsonValue[])[Number(key)]
    : undefined
}

/** The members of a body whose names can be written without `body.`. */
export const bodyRoots: readonly string[] = Object.freeze(['properties', 'traits', 'context'])

/** Writes a field in the match language; empty for a word. */
export function fieldText(field: Field): string {
  switch (field.kind) {
    case 'named':
      return field.name
    case 'body': {
      const isRooted = bodyRoots.includes(field.keys[0] ?? '')
      return (isRooted ? field.keys : ['body', ...field.keys]).map(keyText).join('.')
    }
    case 'word':
      return ''
  }
}

/** Returns the name of a field, for messages. */
export function fieldLabel(field: Field): string {
  return field.kind === 'word' ? 'text' : fieldText(field).replace(/^body\./, '')
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_$][\w$-]*$/.test(key) ? key : `"${key.replace(/["\\]/g, '\\$&')}"`
}
