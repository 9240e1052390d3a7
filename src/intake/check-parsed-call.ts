import {
  checkCall,
  isJsonObject,
  isNestedDeeper,
  isUnsafeInteger,
  limits,
  type CallCheck,
  type CallType,
} from '../model/index.ts'

/**
 * Checks a parsed call like `checkCall`. Also refuses, as `wrong_type`, a call that is nested too deeply to serialise
 * again. A call with a `checkedType` has already passed `checkCall`, so only its nesting is checked.
 */
export function checkParsedCall(value: unknown, checkedType?: CallType): CallCheck {
  const check: CallCheck =
    checkedType !== undefined && isJsonObject(value)
      ? { kind: 'valid', type: checkedType, call: value }
      : checkCall(value)
  if (check.kind === 'invalid') return check
  const { call } = check
  for (const name of Object.keys(call)) {
    if (!isNestedDeeper(call[name], limits.callNestingMax)) continue
    const message = `${name} must not be nested more than ${limits.callNestingMax} levels deep`
    return { kind: 'invalid', code: 'wrong_type', message }
  }
  return check
}

/**
 * Whether a value contains an integer that JavaScript cannot represent exactly. Only for values that passed {@link
 * checkParsedCall}, so that recursion can't overflow the stack.
 */
export function hasUnsafeInteger(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isUnsafeInteger(value)
  for (const member of Object.values(value)) if (hasUnsafeInteger(member)) return true
  return false
}
