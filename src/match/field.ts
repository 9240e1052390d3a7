import { isJsonObject, type JsonObject, type JsonValue } from '../model/index.ts'
import type { Subject } from './subject.ts'

/** The fields that have a name of their own. */
export type FieldName =
  | 'type'
  | 'event'
  | 'user'
  | 'anonymous'
  | 'previous'
  | 'group'
  | 'id'
  | 'name'
  | 'category'
  | 'sig'
  | 'status'
  | 'path'
  | 'bytes'

/** The field of a term: a named field, a place in the body, or the names that words are searched in. */
export type Field =
  | { readonly kind: 'named'; readonly name: FieldName }
  | { readonly kind: 'body'; readonly keys: readonly string[] }
  | { readonly kind: 'word' }

/** The values that each named field reads. One of them has to fit. */
const readers: Readonly<Record<FieldName, (subject: Subject) => readonly JsonValue[]>> = {
  type: ({ body }) => textsIn(body, ['type']),
  event: ({ body }) => textsIn(body, ['event']),
  // Under either key, which an alias may have.
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
}

/** The named fields, in the order of the documentation. */
export const fieldNames: readonly FieldName[] = Object.freeze(
  Object.keys(readers) as readonly FieldName[],
)

/** Tells the name of a field from any other text. */
export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(readers, name)
}

/** The values of a field, one of which has to fit; none if the field is absent. */
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

/** The members that are texts, or numbers, which ids may be. */
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

/** A member that a body brought itself: what every object and array inherits is no data. */
function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (isJsonObject(value)) return Object.hasOwn(value, key) ? value[key] : undefined
  return Array.isArray(value) && /^(?:0|[1-9]\d*)$/.test(key)
    ? (value as readonly JsonValue[])[Number(key)]
    : undefined
}

/** The parts of a body that need no `body.` before them. */
export const bodyRoots: readonly string[] = Object.freeze(['properties', 'traits', 'context'])

/** Writes a field so that reading it gives the same one; what words are looked for in has no text. */
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

/** The name of a field for people. */
export function fieldLabel(field: Field): string {
  switch (field.kind) {
    case 'named':
      return field.name
    case 'body':
      return field.keys.length === 0 ? 'body' : field.keys.map(keyText).join('.')
    case 'word':
      return 'type, event or name'
  }
}

function keyText(key: string): string {
  return /^[A-Za-z0-9_$][\w$-]*$/.test(key) ? key : `"${key.replace(/["\\]/g, '\\$&')}"`
}
