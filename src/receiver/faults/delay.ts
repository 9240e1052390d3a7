import { formatDuration, parseDuration } from '../../model/index.ts'

/** The range of random delays of answers, in milliseconds. */
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

/** Reads a delay of an answer in milliseconds; undefined if it is invalid or above the maximum. */
export function parseDelay(text: string): number | undefined {
  const delayMs = parseDuration(text)
  return delayMs !== undefined && delayMs <= delayMsMax ? delayMs : undefined
}

/** Returns a random delay of one answer, in milliseconds. */
export function delayIn({ fromMs, toMs }: DelayRange, random: () => number): number {
  if (fromMs === toMs) return fromMs
  return fromMs + Math.floor(random() * (toMs - fromMs + 1))
}
