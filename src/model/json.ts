/** Any value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object, as parsed: never an array, never null. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** What callers may hand in where a JSON object is wanted: it is serialised, never kept. */
export type Properties = Readonly<Record<string, unknown>>

/** Tells a JSON object from every other value, arrays and null included. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
