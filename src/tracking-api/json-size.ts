/** What a number, `true`, `false` or `null` has at the most, as JSON and with its comma. */
const scalarBytesMax = 32

/** A control character or half of a pair, escaped: what a UTF-16 code unit has at the most. */
const codeUnitBytesMax = 6

/** Quotes, colon and comma of a name or text. */
const delimiterBytes = 4

/** More than an object or array itself has, so that the call stack reaches however deep they stand. */
const nestingBytes = 64

/**
 * Whether a parsed JSON value cannot have more than so many bytes as JSON, judged without writing it.
 * False says nothing: it may be within them all the same. It goes one level of the call stack deeper
 * for every 64 bytes at the most.
 */
export function isSurelyWithin(value: unknown, bytesMax: number): boolean {
  return bytesLeft(value, bytesMax) >= 0
}

/** What is left of so many bytes after a value at its largest; negative when it may not fit. */
function bytesLeft(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - delimiterBytes - codeUnitBytesMax * value.length
  if (typeof value !== 'object' || value === null) return bytes - scalarBytesMax
  let left = bytes - nestingBytes
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left >= 0; index++) {
      left = bytesLeft(value[index], left)
    }
    return left
  }
  const members = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(members)) {
    if (left < 0) return left
    left = bytesLeft(members[name], left - delimiterBytes - codeUnitBytesMax * name.length)
  }
  return left
}
