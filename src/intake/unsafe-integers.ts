/**
 * Whether a value contains an integer that JavaScript cannot represent exactly.
 *
 * @param value - parsed JSON that passed `checkParsedCall`, so that recursion can't overflow the call stack
 */
export function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  if (typeof value !== 'object' || value === null) return false
  for (const member of Object.values(value)) if (hasUnsafeInteger(member)) return true
  return false
}
