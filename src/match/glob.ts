/** A pattern, split at the asterisks that stand for any characters. Without asterisks, it is a single text. */
export type Glob = readonly string[]

/** Whether a text matches a glob. Finds the earliest occurrence of each piece, to leave most text for later pieces. */
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

/** Matches text that needs no quotes, except {@link literals}. Text that begins like a number needs them. */
const plain = /^[A-Za-z_/@*][\w\-./@*]*$/

const literals: ReadonlySet<string> = new Set(['true', 'false', 'null'])

/** Writes a glob in the match language, in quotes if it needs them. */
export function globText(glob: Glob): string {
  const bare = glob.join('*')
  const asterisks = glob.length - 1
  const isPlain =
    plain.test(bare) && !literals.has(bare) && bare.split('*').length - 1 === asterisks
  return isPlain ? bare : `"${glob.map(escaped).join('*')}"`
}

function escaped(piece: string): string {
  return piece.replace(/["\\*]/g, '\\$&')
}
