/** A stretch of a text, in UTF-16 units from its beginning. */
export interface Stretch {
  /** Where the stretch begins; the length of the text if something is missing at the end of the text. */
  readonly offset: number
  /** How long the stretch is; 0 if something is missing at its offset. */
  readonly length: number
}

/** Characters to show before and behind the bad stretch. */
const shownBefore = 60
const shownBehind = 30

/** Characters that would break or shift the two lines of an excerpt. */
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu

/** Formats two lines: the text around a bad stretch, and carets under the stretch. */
export function caretExcerpt(text: string, { offset, length }: Stretch): string {
  const before = characters(text.slice(0, offset))
  const bad = characters(text.slice(offset, offset + length)).slice(0, shownBefore)
  const behind = characters(text.slice(offset + length))
  const start = [...(before.length > shownBefore ? ['…'] : []), ...before.slice(-shownBefore)]
  const end = [...behind.slice(0, shownBehind), ...(behind.length > shownBehind ? ['…'] : [])]
  const line = [...start, ...bad, ...end].join('')
  return `  ${line}\n  ${' '.repeat(start.length)}${'^'.repeat(Math.max(bad.length, 1))}`
}

function characters(text: string): readonly string[] {
  return Array.from(text.replace(/\s/g, ' ').replace(unprintable, '\ufffd'))
}
