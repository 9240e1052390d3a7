let counts: Intl.NumberFormat | undefined

/** Formats a whole number with commas between thousands: `1,204`. */
export function formatCount(count: number): string {
  // Most numbers need no commas, and creating the formatter takes 10 ms.
  if (count < 1_000) return String(count)
  counts ??= new Intl.NumberFormat('en')
  return counts.format(count)
}

/** Formats a count with its noun: `1 delivery`, `2 deliveries`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Formats the local time of day with milliseconds: `12:04:31.207`. */
export function formatTimeOfDay(instantMs: number): string {
  const date = new Date(instantMs)
  const [time = ''] = date.toTimeString().split(' ')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
