import { formatDuration, parseDuration } from '../../model/index.ts'

/** The range from which the delay of each answer is drawn, in milliseconds. */
export interface DelayRange {
  /** The shortest delay. */
  readonly fromMs: number
  /** The longest delay. */
  readonly toMs: number
}

/** Maximum delay of an answer: an hour. */
export const delayMsMax: number = 60 * 60 * 1_000

/** The accepted forms of a delay, in words. */
export const delayInWords: string = `a duration such as 500ms, 6s or 1.5m, at most ${formatDuration(delayMsMax)}`

/** Parses a delay into milliseconds; undefined if it is invalid or above the maximum. */
export function parseDelay(text: string): number | undefined {
  const delayMs = parseDuration(text)
  return delayMs !== undefined && delayMs <= delayMsMax ? delayMs : undefined
}

/** Draws the delay of one answer from a range, in milliseconds. */
export function delayIn({ fromMs, toMs }: DelayRange, random: () => number): number {
  if (fromMs === toMs) return fromMs
  return fromMs + Math.floor(random() * (toMs - fromMs + 1))
}
