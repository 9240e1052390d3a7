/** Characters that take two columns of a terminal: emoji, East Asian scripts and full-width forms. */
const wide =
  /[\p{Emoji_Presentation}\ufe0f\p{Script=Han}\p{Script=Hangul}\u3000-\u33ff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/u
const narrow = /^[\x20-\x7e]*$/
const segmenter = new Intl.Segmenter()

/** Splits text into the signs that a reader sees, such as a letter with its accents or a joined emoji. */
export function signsOf(text: string): readonly string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Counts the columns of a terminal that a plain text takes. */
export function columnsOf(text: string): number {
  if (narrow.test(text)) return text.length
  return signsOf(text).reduce((columns, sign) => columns + (wide.test(sign) ? 2 : 1), 0)
}

/** Shortens plain text to a number of columns. Shortened text ends in `…`. */
export function cutToColumns(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const signs = signsOf(text)
  let room = columnsMax - 1
  const end = signs.findIndex((sign) => (room -= columnsOf(sign)) < 0)
  return `${signs.slice(0, end).join('')}…`
}

/** Pads plain text with spaces to a number of columns. */
export function padToColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - columnsOf(text), 0))
}
