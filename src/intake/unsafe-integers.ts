/**
 * Whether a value holds an integer that a JSON parser in JavaScript cannot read exactly.
 *
 * @param value - parsed JSON that passed `checkParsedCall`, so that the call stack reaches
 */
export function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return false
  for (const member of Object.values(value)) if (hasUnsafeInteger(member)) return true
  return false
}
