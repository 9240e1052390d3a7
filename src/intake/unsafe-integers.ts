/**
 * Whether a value holds an integer that a JSON parser in JavaScript cannot read exactly.
 *
 * @param text - the value as JSON, which rules most values out without walking through them
 */
export function hasUnsafeInteger(value: unknown, text: string): boolean {
  return /\d{16}|\de\+/.test(text) && holdsUnsafeInteger(value)
}

function holdsUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some(holdsUnsafeInteger)
}
