/** Characters that take two columns of a terminal: emoji, East Asian scripts and full-width forms. */
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\u3000-\u33ff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]/gu

/** How many columns a plain text takes at most: signs that a terminal joins count one by one. */
export function columnsOf(text: string): number {
  return Array.from(text).length + (text.match(wide)?.length ?? 0)
}

/** Shortens plain text to a number of columns. Shortened text ends in `…`. */
export function cutToColumns(text: string, columnsMax: number): string {
  if (columnsOf(text) <= columnsMax) return text
  const characters = Array.from(text)
  let room = columnsMax - 1
  const end = characters.findIndex((character) => (room -= columnsOf(character)) < 0)
  return `${characters.slice(0, end).join('')}…`
}

/** Pads plain text with spaces to a number of columns. */
export function padToColumns(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - columnsOf(text), 0))
}
