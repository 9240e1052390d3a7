import type { JsonValue } from '../model/index.ts'

/** As numbers, longer texts would lose digits, and be slow to check. */
const numberLengthMax = 32

const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Reads a trait from a CSV cell: a boolean, a number that keeps all its digits, or text; undefined if blank. */
export function cellValue(text: string): JsonValue | undefined {
  if (text.trim() === '') return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  return isNumber(text) ? Number(text) : text
}

/** Whether a text is a number that keeps all its digits. Integers above 2^53 don't. */
function isNumber(text: string): boolean {
  if (text.length > numberLengthMax || !jsonNumber.test(text)) return false
  const number = Number(text)
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) {
    return false
  }
  return digitsOf(text) === digitsOf(String(number))
}

/** Returns the digits of a number, without its sign, point, exponent, and leading and trailing zeros. */
function digitsOf(text: string): string {
  const [mantissa = ''] = text.toLowerCase().split('e')
  return mantissa.replace(/[^0-9]/g, '').replace(/^0+|0+$/g, '')
}
