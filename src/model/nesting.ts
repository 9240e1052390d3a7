/**
 * Whether more than `levelsMax` objects and arrays stand inside one another in a parsed JSON value,
 * itself included. Stops at the limit, so that the call stack reaches whatever the nesting.
 */
export function isNestedDeeper(value: unknown, levelsMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return (
    levelsMax === 0 || Object.values(value).some((member) => isNestedDeeper(member, levelsMax - 1))
  )
}
