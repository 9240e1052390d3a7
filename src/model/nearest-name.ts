/** Returns the known name that is most similar to a misspelt name, ignoring case; undefined if none is similar. */
export function nearestName(wrong: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined
  let fewest = Infinity
  for (const name of known) {
    const edits = editDistance(wrong.toLowerCase(), name.toLowerCase())
    // If more than a third of the letters differ, the name is probably a different word, not a typing error.
    if (edits < fewest && edits <= Math.max(wrong.length, name.length) / 3) {
      nearest = name
      fewest = edits
    }
  }
  return nearest
}

/** Says that a name is unknown, without a final period. Suggests a similar name, or lists the known ones. */
export function unknownName(what: string, known: readonly string[], given?: string): string {
  if (given === undefined) return `There is no such ${what}: ${knownNames(known)}`
  const meant = nearestName(given, known)
  const others = meant === undefined ? `: ${knownNames(known)}` : `, but there is "${meant}"`
  return `There is no ${what} "${given}"${others}`
}

const namesListedMax = 20

/** Lists the known names, as the end of a message. */
export function knownNames(known: readonly string[]): string {
  if (known.length === 0) return 'there are none'
  const omitted = known.length - namesListedMax
  const listed = known.slice(0, namesListedMax).join(', ')
  return `choose from ${listed}${omitted > 0 ? ` and ${omitted} more` : ''}`
}

/** Counts the letters to insert, remove, replace or swap with a neighbour to turn one text into the other. */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)]
  const edits = (row: number, column: number): number => rows[row]?.[column] ?? Infinity
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row])
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      rows[row]?.push(
        Math.min(
          edits(row - 1, column - 1) + (isSame ? 0 : 1),
          edits(row, column - 1) + 1,
          edits(row - 1, column) + 1,
          isSwap ? edits(row - 2, column - 2) + 1 : Infinity,
        ),
      )
    }
  }
  return edits(from.length, to.length)
}
