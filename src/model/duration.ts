const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Reads a duration such as `500ms`, `5s`, `1.5m`, `4h` or `1d` as whole milliseconds; undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim())
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  const durationMs = Math.round(Number(match[1]) * (unitMs[match[2]] ?? NaN))
  return Number.isSafeInteger(durationMs) ? durationMs : undefined
}

/** Formats milliseconds for a person: `480ms`, `5s`, `2m 30s`, `3h 46m`. Rounds down durations of a second or more. */
export function formatDuration(durationMs: number): string {
  const wholeMs = Math.round(durationMs)
  if (wholeMs < 1_000) return `${wholeMs}ms`
  if (wholeMs < 60_000) return `${Math.floor(wholeMs / 100) / 10}s`
  const minutes = Math.floor(wholeMs / 60_000)
  const seconds = Math.floor((wholeMs % 60_000) / 1_000)
  if (minutes < 60) return seconds === 0 ? `${minutes}m` : `${minutes}m ${seconds}s`
  const rest = minutes % 60
  return rest === 0 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 60)}h ${rest}m`
}
