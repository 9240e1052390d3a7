const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }

/** The forms that {@link parseRate} accepts, for messages. */
export const rateForms = 'a rate such as 50/s, 300/m or 1000/h, up to 100000/s'

/** Reads a rate such as `50/s`, `300/m` or `1000/h` as a number per second; undefined if it is invalid. */
export function parseRate(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\/([smh])$/.exec(text)
  const perSecond = Number(match?.[1]) / (unitSeconds[match?.[2] ?? ''] ?? NaN)
  return perSecond > 0 && perSecond <= 100_000 ? perSecond : undefined
}
