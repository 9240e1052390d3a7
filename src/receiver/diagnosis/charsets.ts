/** What 0x80 to 0x9f are in Windows-1252; all other bytes are as in Latin-1. */
const windowsCharacters = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
const windowsStart = 0x80

const mark = Buffer.from([0xef, 0xbb, 0xbf])

/** The text in Windows-1252; undefined where it has other characters. */
export function windowsBytes(text: string): Buffer | undefined {
  const latin = text.replace(/[^\0-\x7f\xa0-\xff]/g, (character) => {
    const index = windowsCharacters.indexOf(character)
    return index === -1 ? character : String.fromCharCode(windowsStart + index)
  })
  return /[^\0-\xff]/.test(latin) ? undefined : Buffer.from(latin, 'latin1')
}

/** The text that bytes in Windows-1252 stand for. */
export function windowsText(bytes: Buffer): string {
  // Not by TextDecoder: in Node 20 it takes Windows-1252 for Latin-1.
  return bytes
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, (character) =>
      windowsCharacters.charAt(character.charCodeAt(0) - windowsStart),
    )
}

/** The bytes with the byte order mark of UTF-8 before them, or without the one that they have. */
export function toggleByteOrderMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(mark) ? bytes.subarray(3) : Buffer.concat([mark, bytes])
}
