import { parseTree } from 'jsonc-parser'
import { formatTimestamp, parseTimestamp, type JsonValue } from '../../model/index.ts'
import type { Clock } from '../../runtime/index.ts'
import type { TimeShiftBy } from './captured-request.ts'

/** A timestamp in JSON text. The range from `start` to `end` includes its quotes. */
interface TimeRange {
  readonly name: string
  readonly start: number
  readonly end: number
  readonly atMs: number
}

const timeNames: readonly unknown[] = ['timestamp', 'originalTimestamp', 'sentAt']

/** The latest time that a Date can represent. */
const latestMs = 8_640_000_000_000_000

/** Moves all timestamps by the same amount, so that the intervals between them stay the same. */
export class TimeShift {
  readonly #clock: Clock
  #offsetMs: number | undefined

  constructor(by: TimeShiftBy, clock: Clock) {
    this.#clock = clock
    this.#offsetMs = by === 'now' ? undefined : by
  }

  /** Moves the timestamps in a body, and changes nothing else. */
  apply(text: string): string {
    const times = timesOf(text)
    const first = times.find(({ name }) => name === 'timestamp') ?? times[0]
    if (first === undefined) return text
    this.#offsetMs ??= this.#clock.nowMs() - first.atMs
    let moved = ''
    let end = 0
    for (const time of times) {
      const atMs = Math.min(Math.max(time.atMs + this.#offsetMs, -latestMs), latestMs)
      moved += text.slice(end, time.start) + JSON.stringify(formatTimestamp(atMs))
      end = time.end
    }
    return moved + text.slice(end)
  }
}

/** Finds the timestamps in a JSON object, but not in objects inside it. */
function timesOf(text: string): readonly TimeRange[] {
  const properties = parseTree(text)?.children ?? []
  return properties.flatMap(({ children: [key, value] = [] }) => {
    if (!timeNames.includes(key?.value) || value === undefined) return []
    const atMs = parseTimestamp(value.value as JsonValue | undefined)
    const [start, end] = [value.offset, value.offset + value.length]
    return atMs === undefined ? [] : [{ name: key?.value as string, start, end, atMs }]
  })
}
