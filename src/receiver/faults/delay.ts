import { formatDuration, parseDuration } from '../../model/index.ts'

/** How long answers wait, each for a time of its own between the two, in milliseconds. */
export interface DelayRange {
  /** The shortest wait. */
  readonly fromMs: number
  /** The longest wait. */
  readonly toMs: number
}

/** No answer can be made to wait for longer: an hour. */
export const delayMsMax: number = 60 * 60 * 1_000

/** The accepted forms of a delay, in words. */
export const delayInWords: string = `a duration such as 500ms, 6s or 1.5m, at most ${formatDuration(delayMsMax)}`

/** Reads a duration that an answer can wait, in milliseconds; undefined when it is none. */
export function parseDelay(text: string): number | undefined {
  const delayMs = parseDuration(text)
  return delayMs !== undefined && delayMs <= delayMsMax ? delayMs : undefined
}

/** The wait of one answer, in milliseconds. */
export function delayIn({ fromMs, toMs }: DelayRange, random: () => number): number {
  if (fromMs === toMs) return fromMs
  return fromMs + Math.floor(random() * (toMs - fromMs + 1))
}
