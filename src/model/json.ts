/** A value that `JSON.parse` can return. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A parsed JSON object, which is neither an array nor null. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** An object to be sent as JSON; not a list. The client serialises it immediately and never keeps it. */
export interface Properties {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- `unknown` would refuse classes and interfaces
  readonly [name: string]: any
  readonly [Symbol.iterator]?: never
}

/** Whether a parsed value is an object, not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a whole number that JavaScript may have rounded when it parsed it. */
export function isUnsafeInteger(value: unknown): value is number {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Parses JSON; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Matches every number that is too large for JavaScript, and few others. A reviver would make all parsing slower. */
const longNumber = /(?:^|[\s[:,])-?(?:[\d.]+e\+?\d{3}|\d{309})/i

/** Like `JSON.parse`, but throws if a number is too large, because `JSON.stringify` would turn it into null. */
export function parseFiniteJson(json: string): unknown {
  return JSON.parse(json, longNumber.test(json) ? refuseInfinity : undefined)
}

function refuseInfinity(_key: string, value: unknown): unknown {
  if (value === Infinity || value === -Infinity) throw new RangeError('a number is too large')
  return value
}

/** Whether a value has more than `levelsMax` levels of objects and arrays, including itself. Reads no deeper. */
export function isNestedDeeper(value: unknown, levelsMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (
    levelsMax === 0 || Object.values(value).some((member) => isNestedDeeper(member, levelsMax - 1))
  )
}

/** Like {@link isNestedDeeper}, for JSON text. Call it before parsing, because parsing thousands of levels is slow. */
export function isTextNestedDeeper(json: string, levelsMax: number): boolean {
  if (json.length <= 2 * levelsMax) return false
  let levels = 0
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') isInString = !isInString
    else if (isInString) {
      if (character === '\\') at++
    } else if (character === '{' || character === '[') {
      levels++
      if (levels > levelsMax) return true
    } else if (character === '}' || character === ']') levels--
  }
  return false
}

/** Characters that control a terminal, or end a line in some programs. */
const steering = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Escapes the characters of a JSON text that control terminals or end lines. The parsed value stays the same. */
export function printableJson(json: string): string {
  return json.replace(steering, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

/** Writes a record as a line of NDJSON that is safe to print, with the version of the format as `v`. */
export function recordLine(record: Readonly<Record<string, unknown>>): string {
  return `${printableJson(JSON.stringify({ v: 1, ...record }))}\n`
}
