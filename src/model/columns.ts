/** Characters that take two columns of a terminal: emoji, East Asian scripts and full-width forms. */
const wide =
  /[\p{Emoji_Presentation}\ufe0f\p{Script=Han}\p{Script=Hangul}\u3000-\u33ff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/u
const narrow = /^[\x20-\x7e]*$/
/** Made on first use, because making a segmenter takes 5 ms. */
let segmenter: Intl.Segmenter | undefined

/** Splits text into the characters that a reader sees, such as a letter with its accents or a joined emoji. */
function graphemesOf(text: string): readonly string[] {
  segmenter ??= new Intl.Segmenter()
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Counts the terminal columns that a text takes. The text must have no escape sequences. */
export function columnsOf(text: string): number {
  if (narrow.test(text)) return text.length
  return graphemesOf(text).reduce((columns, grapheme) => columns + (wide.test(grapheme) ? 2 : 1), 0)
}

/** Shortens a text without escape sequences to at most `columnsMax` columns. Shortened text ends in `…`. */
export function cutToColumns(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const graphemes = graphemesOf(text)
  let room = columnsMax - 1
  const end = graphemes.findIndex((grapheme) => (room -= columnsOf(grapheme)) < 0)
  return `${graphemes.slice(0, end).join('')}…`
}

/** Pads a text with spaces to a number of columns. The text must have no escape sequences. */
export function padToColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - columnsOf(text), 0))
}
