import { stripVTControlCharacters } from 'node:util'

const lineBreaksAndTabs = /[\t\n\v\f\r\u0085\u2028\u2029]+/g
/** Almost every text is: to look at it takes half as long as to replace. */
const printableAscii = /^[\x20-\x7e]*$/
/** Control characters (C0, DEL, C1), halves of characters, and what turns the writing direction. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu

/**
 * Makes text from elsewhere safe to print on one line of a terminal: escape sequences, control
 * characters, bidi controls and lone surrogates are removed, line breaks and tabs become a space.
 */
export function plainText(text: string): string {
  if (printableAscii.test(text)) return text
  return stripVTControlCharacters(text).replace(lineBreaksAndTabs, ' ').replace(unprintable, '')
}

/** The plain text of at most `charactersMax` characters; where some are left out it ends in `…`. */
export function shortText(text: string, charactersMax = 60): string {
  if (text.length <= charactersMax && printableAscii.test(text)) return text
  const plain = plainText(text)
  // A character has at most two units, so these are enough to see whether there are too many.
  const characters = Array.from(plain.slice(0, 2 * charactersMax + 2))
  return characters.length <= charactersMax
    ? plain
    : `${characters.slice(0, charactersMax - 1).join('')}…`
}
