import { formatDuration, parseDuration } from '../../model/index.ts'

/** The range in which the delay of each answer is chosen at random. */
export interface DelayRange {
  readonly fromMs: number
  /** The longest delay, inclusive. */
  readonly toMs: number
}

/** Maximum delay of an answer, and maximum timeout of a forwarded request. */
export const delayMsMax: number = 60 * 60 * 1_000

/** The accepted forms of a delay, for messages. */
export const delayInWords: string = `a duration such as 500ms, 6s or 1.5m, at most ${formatDuration(delayMsMax)}`

/** Parses a delay into milliseconds; undefined if it is invalid or above the maximum. */
export function parseDelay(text: string): number | undefined {
  const delayMs = parseDuration(text)
  return delayMs !== undefined && delayMs <= delayMsMax ? delayMs : undefined
}
