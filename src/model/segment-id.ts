import { createHash } from 'node:crypto'

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const idDigits = 27
/** Number of bytes that 27 digits in base 62 can express. */
const idBytes = 20

/** Hashes a unique text to an id in Segment's format: a prefix such as `reg`, then `_` and 27 letters and digits. */
export function segmentId(prefix: string, unique: string): string {
  const hash = createHash('sha256').update(unique).digest('hex')
  let rest = BigInt(`0x${hash.slice(0, idBytes * 2)}`)
  let text = ''
  while (text.length < idDigits) {
    text = (digits[Number(rest % 62n)] ?? '') + text
    rest /= 62n
  }
  return `${prefix}_${text}`
}
