/** A date, or a date and time with any number of fraction digits. A missing zone means UTC. */
const shape =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*(Z|UTC|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?$/i

/** The form that `toISOString` writes and nearly every client sends. `Date.parse` reads it reliably. */
const commonShape = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

const earliestMs = Date.parse('0000-01-01T00:00:00.000Z')
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')

/** Reads a timestamp as milliseconds since 1970; undefined for any other text. Never throws. */
export function parseTimestamp(value: unknown): number | undefined {
  if (value instanceof Date) return hasFourDigitYear(value.getTime()) ? value.getTime() : undefined
  if (typeof value !== 'string') return undefined
  return commonShape.test(value) ? parseCommon(value) : parseOther(value)
}

function parseCommon(value: string): number | undefined {
  const instantMs = Date.parse(value)
  // Date.parse reads February 30 as March 1 or 2. Refuse such days instead.
  const isThatDay = new Date(instantMs).getUTCDate() === Number(value.slice(8, 10))
  return isThatDay ? instantMs : undefined
}

function parseOther(value: string): number | undefined {
  const match = shape.exec(value.trim())
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  const two = (part: string | undefined): string => (part ?? '0').padStart(2, '0')
  const date = `${year ?? ''}-${two(month)}-${two(day)}`
  const time = `${two(hour)}:${two(minute)}:${two(second)}.${(fraction ?? '').slice(0, 3).padEnd(3, '0')}`
  const instantMs = Date.parse(`${date}T${time}Z`)
  if (Number.isNaN(instantMs) || !new Date(instantMs).toISOString().startsWith(date))
    return undefined
  const utcMs = instantMs - offsetMs(zone)
  return hasFourDigitYear(utcMs) ? utcMs : undefined
}

/** Whether ISO 8601 writes the year of an instant with four digits. */
export function hasFourDigitYear(instantMs: number): boolean {
  return instantMs >= earliestMs && instantMs <= latestMs
}

function offsetMs(zone: string | undefined): number {
  if (zone === undefined || /^[zu]/i.test(zone)) return 0
  const digits = zone.slice(1).replace(':', '')
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || '0')
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}

/** The last result, which simultaneous events share. */
let last = { instantMs: 0, text: '1970-01-01T00:00:00.000Z' }

/** Writes an instant as UTC, ISO 8601 with milliseconds. */
export function formatTimestamp(instantMs: number): string {
  if (instantMs !== last.instantMs) last = { instantMs, text: new Date(instantMs).toISOString() }
  return last.text
}
