/**
 * Whether a value holds an integer that a JSON parser in JavaScript cannot read exactly.
 *
 * @param text - the value as JSON, which rules most values out without walking through them
 */
export function hasUnsafeInteger(value: unknown, text: string): boolean {
  return /\d{16}|\de\+/.test(text) && holdsUnsafeInteger(value)
}

/** Walks with a list of its own: the value may be nested deeper than the call stack reaches. */
function holdsUnsafeInteger(value: unknown): boolean {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next === 'number' && Number.isInteger(next) && !Number.isSafeInteger(next)) {
      return true
    }
    if (typeof next === 'object' && next !== null) {
      for (const member of Object.values(next)) open.push(member)
    }
  }
  return false
}
