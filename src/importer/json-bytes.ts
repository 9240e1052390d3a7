// The structural bytes of JSON. In UTF-8, none of them is ever part of a longer character.

/** `\n`, which ends a row of NDJSON. */
export const lineFeed = 0x0a
/** `\r`, which precedes the line feed on Windows. */
export const carriageReturn = 0x0d
/** `"`. */
export const quote = 0x22
/** `,`. */
export const comma = 0x2c
/** `\`, which escapes the next byte of a string. */
export const backslash = 0x5c
/** `[`. */
export const openBracket = 0x5b
/** `]`. */
export const closeBracket = 0x5d
/** `{`. */
export const openBrace = 0x7b
/** `}`. */
export const closeBrace = 0x7d

const tab = 0x09
const space = 0x20
/** The byte order mark in UTF-8, with which many files begin. */
export const byteOrderMark: Buffer = Buffer.from([0xef, 0xbb, 0xbf])

/** Returns the index after white space and byte order marks. */
export function skipBlank(bytes: Buffer, from = 0): number {
  let at = from
  for (;;) {
    if (isWhiteSpace(bytes[at])) at++
    else if (startsWithMark(bytes, at)) at += byteOrderMark.length
    else return at
  }
}

/** Whether the bytes may be an incomplete byte order mark. True for no bytes. */
export function mayBecomeMark(bytes: Buffer): boolean {
  return bytes.length < byteOrderMark.length && byteOrderMark.indexOf(bytes) === 0
}

/** Removes white space from both ends, and byte order marks from the beginning. */
export function trimBlank(bytes: Buffer): Buffer {
  const start = skipBlank(bytes)
  let end = bytes.length
  while (end > start && isWhiteSpace(bytes[end - 1])) end--
  return bytes.subarray(start, end)
}

/** Counts line feeds. */
export function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) lines++
  return lines
}

function isWhiteSpace(byte: number | undefined): boolean {
  return byte === space || byte === lineFeed || byte === carriageReturn || byte === tab
}

/** Whether a byte order mark begins at an index. */
export function startsWithMark(bytes: Buffer, at = 0): boolean {
  const [first, second, third] = byteOrderMark
  return bytes[at] === first && bytes[at + 1] === second && bytes[at + 2] === third
}
