const counts = new Intl.NumberFormat('en')

/** Writes a whole number with commas between thousands: `1,204`. */
export function formatCount(count: number): string {
  return counts.format(count)
}

/** A count with its noun: `1 delivery`, `2 deliveries`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}
