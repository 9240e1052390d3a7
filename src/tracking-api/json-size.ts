/** Maximum length of a number, `true`, `false` or `null` as JSON, with its comma. */
const scalarBytesMax = 32

/** Maximum length of a UTF-16 code unit as JSON: an escaped control character or half of a surrogate pair. */
const codeUnitBytesMax = 6

/** Quotes, colon and comma of a name or text. */
const delimiterBytes = 4

/** Bytes counted for each object or array: more than it needs, so that the limit also bounds the recursion. */
const nestingBytes = 64

/** Whether a value certainly fits into this many bytes of JSON, by an estimate. Recurses at most once per 64 bytes. */
export function isSurelyWithin(value: unknown, bytesMax: number): boolean {
  return remainingBytes(value, bytesMax) >= 0
}

/** Subtracts an upper bound of the value's size as JSON from `bytes`. A negative result means that it may not fit. */
function remainingBytes(value: unknown, bytes: number): number {
  if (typeof value === 'string') return bytes - delimiterBytes - codeUnitBytesMax * value.length
  if (typeof value !== 'object' || value === null) return bytes - scalarBytesMax
  let remaining = bytes - nestingBytes
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && remaining >= 0; index++) {
      remaining = remainingBytes(value[index], remaining)
    }
    return remaining
  }
  const members = value as Readonly<Record<string, unknown>>
  for (const name of Object.keys(members)) {
    if (remaining < 0) return remaining
    remaining = remainingBytes(
      members[name],
      remaining - delimiterBytes - codeUnitBytesMax * name.length,
    )
  }
  return remaining
}
