/** The median; of an even number of values, the upper one of the middle two. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

/** A median and the range around it. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The median, the smallest and the largest of some numbers. */
export function spreadOf(numbers: readonly number[]): Spread {
  return { median: median(numbers), min: Math.min(...numbers), max: Math.max(...numbers) }
}

/** Formats a table with its first column aligned to the left, and the others to the right. */
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
