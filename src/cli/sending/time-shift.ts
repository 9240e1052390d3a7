import { formatTimestamp, parseDuration, parseTimestamp } from '../../model/index.ts'
import type { Clock } from '../../runtime/index.ts'

/** How far to move timestamps, in milliseconds; `now` moves the first one to the present. */
export type TimeShiftBy = 'now' | number

/** Parses `now` or a duration with an optional sign; undefined if it is neither. */
export function parseTimeShift(text: string): TimeShiftBy | undefined {
  if (text === 'now') return text
  const durationMs = parseDuration(text.replace(/^[+-]/, ''))
  if (durationMs === undefined) return undefined
  return text.startsWith('-') ? -durationMs : durationMs
}

/** Moves all timestamps by the same time, so that the intervals between them stay. */
export class TimeShift {
  readonly #clock: Clock
  #offsetMs: number | undefined

  /** @param clock - defines `now` */
  constructor(by: TimeShiftBy, clock: Clock) {
    this.#clock = clock
    this.#offsetMs = by === 'now' ? undefined : by
  }

  /** Moves the timestamps in a body and changes nothing else. */
  apply(text: string): string {
    const times = timesOf(text)
    const first = times.find(({ name }) => name === 'timestamp') ?? times[0]
    if (first === undefined) return text
    this.#offsetMs ??= this.#clock.nowMs() - first.atMs
    let moved = ''
    let end = 0
    for (const time of times) {
      moved += text.slice(end, time.start) + JSON.stringify(movedTime(time.atMs + this.#offsetMs))
      end = time.end
    }
    return moved + text.slice(end)
  }
}

/** A timestamp in JSON text: the string from `start` to `end`, with its quotes. */
interface TimeRange {
  readonly name: string
  readonly start: number
  readonly end: number
  readonly atMs: number
}

const timeNames = new Set(['timestamp', 'originalTimestamp', 'sentAt'])

/** A property name with a string value; another string; or a bracket. */
const token = /("(?:[^"\\]|\\.)*")(?:\s*:\s*("(?:[^"\\]|\\.)*")?)?|[{}[\]]/dgs

/** The timestamps in a JSON object, without those in nested objects. */
function timesOf(text: string): readonly TimeRange[] {
  const times: TimeRange[] = []
  let depth = 0
  for (const match of text.matchAll(token)) {
    const [found] = match
    if (found === '{' || found === '[') depth++
    if (found === '}' || found === ']') depth--
    const time = depth === 1 ? timeOf(match) : undefined
    if (time !== undefined) times.push(time)
  }
  return times
}

function timeOf({ 1: name, 2: value, indices }: RegExpExecArray): TimeRange | undefined {
  const position = indices?.[2]
  if (name === undefined || value === undefined || position === undefined) return undefined
  const field = parseText(name) ?? ''
  const atMs = timeNames.has(field) ? parseTimestamp(parseText(value)) : undefined
  return atMs === undefined
    ? undefined
    : { name: field, start: position[0], end: position[1], atMs }
}

/** Parses a JSON string literal. */
function parseText(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string
  } catch {
    return undefined
  }
}

const latestMs = 8_640_000_000_000_000

/** Clamps to the range that a timestamp can express. */
function movedTime(atMs: number): string {
  return formatTimestamp(Math.min(Math.max(atMs, -latestMs), latestMs))
}
