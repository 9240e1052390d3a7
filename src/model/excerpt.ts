/** A range of a text, in UTF-16 code units. The length 0 marks a place where something is missing. */
export interface TextRange {
  /** Where the range begins. It is the text's length if something is missing at the end. */
  readonly offset: number
  readonly length: number
}

/** Number of characters to show before and after the bad range. */
const shownBefore = 60
const shownAfter = 30

/** Characters that would break or shift the two lines of an excerpt. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu

/** Formats two lines: the text around a bad range, and carets under the range. */
export function caretExcerpt(text: string, { offset, length }: TextRange): string {
  const before = characters(text.slice(0, offset))
  const bad = characters(text.slice(offset, offset + length)).slice(0, shownBefore)
  const after = characters(text.slice(offset + length))
  const start = [...(before.length > shownBefore ? ['…'] : []), ...before.slice(-shownBefore)]
  const end = [...after.slice(0, shownAfter), ...(after.length > shownAfter ? ['…'] : [])]
  const line = [...start, ...bad, ...end].join('')
  return `  ${line}\n  ${' '.repeat(start.length)}${'^'.repeat(Math.max(bad.length, 1))}`
}

function characters(text: string): readonly string[] {
  return Array.from(text.replace(/\s/g, ' ').replace(unprintable, '\ufffd'))
}
