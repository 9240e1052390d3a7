import {
  checkCall,
  isJsonObject,
  isNestedDeeper,
  limits,
  type CallCheck,
  type CallType,
} from '../model/index.ts'

/**
 * Checks a parsed call as `checkCall` does, and refuses one that is nested more than
 * `limits.callNestingMax` deep with `wrong_type`: it could be read but not written again.
 *
 * @param value - what a JSON parser returned; a value with circles in it is not one
 * @param checkedType - its type when `checkCall` found it valid before: only its nesting is checked then
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
