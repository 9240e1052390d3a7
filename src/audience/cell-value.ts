import type { JsonValue } from '../model/index.ts'

/** A number needs no more characters to be exact, and a longer text would take long to look at. */
const numberLengthMax = 32

const jsonNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/**
 * What the text of a CSV's cell says of a computed trait: a number where it is one as JSON writes it and
 * nothing of it gets lost, `true` or `false`, else the text as it stands.
 *
 * @returns undefined where the cell has nothing but blanks
 */
export function cellValue(text: string): JsonValue | undefined {
  if (text.trim() === '') return undefined
  if (text === 'true' || text === 'false') return text === 'true'
  return isNumber(text) ? Number(text) : text
}

/** Whether nothing of a text gets lost as a number; above 2^53 nobody knows whether it did. */
function isNumber(text: string): boolean {
  if (text.length > numberLengthMax || !jsonNumber.test(text)) return false
  const number = Number(text)
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) {
    return false
  }
  return digitsOf(text) === digitsOf(String(number))
}

/** The digits of a number without its sign, point and exponent, and without the zeros around them. */
function digitsOf(text: string): string {
  const [mantissa = ''] = text.toLowerCase().split('e')
  return mantissa.replace(/[^0-9]/g, '').replace(/^0+|0+$/g, '')
}
