/** U+0080 to U+009F of Latin-1 are other characters in Windows-1252. */
const windowsCodes: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 32 }, (_, index) => 0x80 + index).map((code) => [
    new TextDecoder('windows-1252').decode(Uint8Array.of(code)),
    code,
  ]),
)

const mark = Buffer.from([0xef, 0xbb, 0xbf])

/** The text in Windows-1252; undefined where it has other characters. */
export function windowsBytes(text: string): Buffer | undefined {
  const codes = Array.from(text, (character) => {
    const code = windowsCodes.get(character) ?? character.codePointAt(0) ?? Infinity
    return code > 0xff ? undefined : code
  })
  return codes.every((code) => code !== undefined) ? Buffer.from(codes) : undefined
}

/** The text that bytes in Windows-1252 stand for. */
export function windowsText(bytes: Buffer): string {
  return new TextDecoder('windows-1252').decode(bytes)
}

/** The bytes with the byte order mark of UTF-8 before them, or without the one that they have. */
export function toggleByteOrderMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).equals(mark) ? bytes.subarray(3) : Buffer.concat([mark, bytes])
}
