/**
 * The faults that a receiver can inject.
 *
 * - `reset`: resets the connection (RST)
 * - `hang`: sends nothing until the sender gives up or the receiver closes
 * - `empty`: closes the connection without sending anything
 * - `truncate`: 200, then less of the body than Content-Length promises
 * - `malformed`: bytes that are not HTTP
 * - `drip`: 200, then a byte of the body every second, for ever
 * - `endless`: 200, then a body without end, as fast as the sender reads
 */
export type Fault = 'reset' | 'hang' | 'empty' | 'truncate' | 'malformed' | 'drip' | 'endless'

/** The status that is sent before each fault takes effect; null if none is sent. */
export const faultStatuses: Readonly<Record<Fault, number | null>> = Object.freeze({
  reset: null,
  hang: null,
  empty: null,
  truncate: 200,
  malformed: null,
  drip: 200,
  endless: 200,
})

/** All faults, in the order of the documentation. */
export const faults: readonly Fault[] = Object.freeze(Object.keys(faultStatuses) as Fault[])

/** Narrows an unchecked name, such as a setting's value, to one of the faults. */
export function isFault(name: unknown): name is Fault {
  return (faults as readonly unknown[]).includes(name)
}

/** The answer to a request: an HTTP status from 200 to 599, or a fault. */
export type GivenAnswer = number | Fault

/** The lowest and the highest status that an answer may have. */
export const statusRange: readonly [number, number] = Object.freeze([200, 599] as const)

/** The accepted answers, for messages. */
export const answersInWords: string = `a status from ${statusRange[0]} to ${statusRange[1]}, or ${faults.slice(0, -1).join(', ')} or ${faults.at(-1) ?? ''}`

/** Reads the status or fault that a text names; undefined if it names neither. */
export function readAnswerName(text: string): GivenAnswer | undefined {
  if (isFault(text)) return text
  return /^\d{3}$/.test(text) && isAnswer(Number(text)) ? Number(text) : undefined
}

/** Whether a value is a fault, or an integer in {@link statusRange}. */
export function isAnswer(value: unknown): value is GivenAnswer {
  if (isFault(value)) return true
  const [lowest, highest] = statusRange
  return Number.isInteger(value) && (value as number) >= lowest && (value as number) <= highest
}
