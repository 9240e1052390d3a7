import { isJsonObject, type JsonObject, type JsonValue, shortText } from '../../model/index.ts'

/** Maximum levels, and maximum members in each object or list. The rest is written as `…`. */
const depthMax = 2
const membersMax = 8

/** Writes any JSON value in one short line: `pro`, `3`, `[a, b]`, `{city: Berlin}`. */
export function valueText(value: JsonValue | undefined, charactersMax = 60): string {
  return shortText(write(value, depthMax), charactersMax)
}

/** Reads a field that is text or a number; undefined if it is anything else or blank. */
export function textOf(object: JsonObject, field: string, charactersMax = 60): string | undefined {
  const value = object[field]
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = shortText(String(value), charactersMax).trim()
  return text === '' ? undefined : text
}

/** Reads a field that is an object. Returns an empty object if it is anything else. */
export function objectOf(object: JsonObject, field: string): JsonObject {
  const value = object[field]
  return isJsonObject(value) ? value : {}
}

function write(value: JsonValue | undefined, levels: number): string {
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const members = Object.entries(value)
  if (members.length === 0) return isList ? '[]' : '{}'
  const written = levels === 0 ? [] : members.slice(0, membersMax)
  const texts = written.map(([key, member]: [string, JsonValue | undefined]) =>
    isList ? write(member, levels - 1) : `${key}: ${write(member, levels - 1)}`,
  )
  if (written.length < members.length) texts.push('…')
  return isList ? `[${texts.join(', ')}]` : `{${texts.join(', ')}}`
}
