/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

/** The middle one, the least and the greatest. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** How far some numbers are apart. */
export function spreadOf(numbers: readonly number[]): Spread {
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers) }
}

/** Columns of text under their names, numbers to the right. */
export function table(names: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [names, ...rows]
  const widths = names.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  )
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => {
          const width = widths[column] ?? 0
          return column === 0 ? cell.padEnd(width) : cell.padStart(width)
        })
        .join('  '),
    )
    .join('\n')
}
