import { withinDates } from '../../delivery/index.ts'
import { formatTimeOfDay } from './numbers.ts'

const units: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
]

/** Parses a moment of a record into milliseconds since 1970; 0 for null. */
export function momentOf(at: string | null): number {
  return at === null ? 0 : Date.parse(at)
}

/** Formats a duration in its largest whole unit: `45s`, `12m`, `3h`, `5d`. Negative durations become `0s`. */
export function formatSpan(durationMs: number): string {
  const [unit, unitMs] = units.find(([, size]) => durationMs >= size) ?? ['s', 1_000]
  return `${Math.floor(Math.max(durationMs, 0) / unitMs)}${unit}`
}

/** Formats a moment in the user's time zone: `10:15:30.207`, with the date unless it is today. */
export function formatMoment(instantMs: number, nowMs: number): string {
  const [day, today] = [dayOf(instantMs), dayOf(nowMs)]
  const time = formatTimeOfDay(withinDates(instantMs))
  return day === today ? time : `${day} ${time}`
}

/** Like {@link formatMoment}, to the second. */
export function formatSecond(instantMs: number, nowMs: number): string {
  return formatMoment(instantMs, nowMs).replace(/\.\d+$/, '')
}

/** Formats a past moment with its age: `10:15:30 (12m ago)`. */
export function formatPast(instantMs: number, nowMs: number): string {
  return `${formatSecond(instantMs, nowMs)} (${formatSpan(nowMs - instantMs)} ago)`
}

function dayOf(instantMs: number): string {
  const date = new Date(withinDates(instantMs))
  const two = (part: number): string => String(part).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}
