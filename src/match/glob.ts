/**
 * A text in which each `*` stands for any characters, also none: the literal pieces between the
 * asterisks. One piece is a text without asterisks.
 */
export type Glob = readonly string[]

/**
 * Whether a text fits a glob. Searches each piece once, from left to right. Taking the first place of a piece
 * never rules out a later one, so no search is repeated.
 */
export function globMatches(glob: Glob, text: string): boolean {
  const first = glob[0] ?? ''
  if (glob.length < 2) return text === first
  const last = glob[glob.length - 1] ?? ''
  const end = text.length - last.length
  if (first.length > end || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of glob.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= end
}

/** Text that needs no quotes anywhere in a glob. A text that begins like this is not a number. */
const plain = /^[A-Za-z_/@*][\w\-./@*]*$/

/** Words that a value without quotes would not be text as. */
const otherThanText: ReadonlySet<string> = new Set(['true', 'false', 'null'])

/** Writes a glob so that reading it gives the same one. */
export function globText(glob: Glob): string {
  const bare = glob.join('*')
  const asterisks = glob.length - 1
  const isPlain =
    plain.test(bare) && !otherThanText.has(bare) && bare.split('*').length - 1 === asterisks
  return isPlain ? bare : `"${glob.map(escaped).join('*')}"`
}

function escaped(piece: string): string {
  return piece.replace(/["\\*]/g, '\\$&')
}
