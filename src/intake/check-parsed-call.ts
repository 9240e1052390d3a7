import { checkCall, isNestedDeeper, limits, type CallCheck } from '../model/index.ts'

/**
 * Checks a parsed call as `checkCall` does, and refuses one that is nested more than
 * `limits.callNestingMax` deep with `wrong_type`: it could be read but not written again.
 *
 * @param value - what a JSON parser returned; a value with circles in it is not one
 */
export function checkParsedCall(value: unknown): CallCheck {
  const check = checkCall(value)
  if (check.kind === 'invalid') return check
  const field = Object.keys(check.call).find((name) =>
    isNestedDeeper(check.call[name], limits.callNestingMax),
  )
  if (field === undefined) return check
  const message = `${field} must not be nested more than ${limits.callNestingMax} levels deep`
  return { kind: 'invalid', code: 'wrong_type', message }
}
