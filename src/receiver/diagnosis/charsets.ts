/** The characters 0x80 to 0x9f of Windows-1252. All other bytes are as in Latin-1. */
const windowsCharacters = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const windowsStart = 0x80

const mark = Buffer.from([0xef, 0xbb, 0xbf])

/** Encodes text in Windows-1252; undefined if it contains characters that the charset lacks. */
export function windowsBytes(text: string): Buffer | undefined {
  const latin = text.replace(/[^\0-\x7f\xa0-\xff]/g, (character) => {
    const index = windowsCharacters.indexOf(character)
    return index === -1 ? character : String.fromCharCode(windowsStart + index)
  })
  return /[^\0-\xff]/.test(latin) ? undefined : Buffer.from(latin, 'latin1')
}

/** Decodes bytes in Windows-1252. */
export function windowsText(bytes: Buffer): string {
  // Don't use TextDecoder: in Node 20 it decodes Windows-1252 as Latin-1.
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (character) =>
      windowsCharacters.charAt(character.charCodeAt(0) - windowsStart),
    )
}

/** Adds a UTF-8 byte order mark at the beginning, or removes it. */
export function toggleByteOrderMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(mark) ? bytes.subarray(3) : Buffer.concat([mark, bytes])
}
