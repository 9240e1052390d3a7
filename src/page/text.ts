import { failureText } from '../model/failure-text.ts'
import type { EventRecord, EventSummary } from '../receiver/index.ts'

const times = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const dates = new Intl.DateTimeFormat('sv')
const counts = new Intl.NumberFormat('en')

/** Formats a time in the time zone of the browser: `12:03:04.567`. */
export function timeText(atMs: number): string {
  return times.format(atMs)
}

/** Formats a date in the time zone of the browser, with a space after it: `2026-11-26 `. Empty for today. */
export function dateText(at: number | string): string {
  const date = dates.format(new Date(at))
  return date === dates.format() ? '' : `${date} `
}

/** Formats a count: `12,345`. */
export function countText(count: number): string {
  return counts.format(count)
}

/** Formats a count with its noun: `1 request`, `2 requests`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`
}

/** The verdict on a signature as a sign and a word. */
export const signatureTexts: Readonly<Record<EventSummary['signature'], string>> = {
  valid: '✓ valid',
  invalid: '✗ wrong',
  missing: '– missing',
  unchecked: 'unchecked',
}

export function answerLook(answer: number | string | null): 'good' | 'warning' | 'bad' {
  if (typeof answer !== 'number') return 'bad'
  if (answer >= 500) return 'bad'
  return answer >= 300 ? 'warning' : 'good'
}

/** Escapes control characters and bidi controls, so that a payload cannot change the text around it. */
export function visibleText(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Describes the error codes in a reason: `answered 503, connection refused (ECONNREFUSED)`. */
export function reasonText(reason: string, describe = failureText): string {
  return visibleText(reason.split(', ').map(describe).join(', '))
}

export function bytesOf({ rawBase64 }: Pick<EventRecord, 'rawBase64'>): Uint8Array {
  return Uint8Array.from(atob(rawBase64), (sign) => sign.charCodeAt(0))
}

/**
 * Decodes UTF-8, and keeps its byte order mark. Returns undefined for other bytes. If it is cut, leaves out an
 * incomplete character at its end.
 */
export function textOf(bytes: Uint8Array, isCut = false): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: isCut,
    })
  } catch {
    return undefined
  }
}

/** Makes a hex dump with 16 bytes per row: offset, hexadecimal digits, printable characters. */
export function hexText(bytes: Uint8Array): string {
  const rows: string[] = []
  for (let offset = 0; offset < bytes.length; offset += 16) {
    const row = [...bytes.subarray(offset, offset + 16)]
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    const printable = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.'))
    rows.push(`${offset.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${printable.join('')}`)
  }
  return rows.join('\n')
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Formats a duration in its two largest units, or in one if it is below a minute: `3 h 57 min`, `40 s`. */
export function durationText(durationMs: number): string {
  if (durationMs < 1) return 'under 1 ms'
  const index = units.findIndex(([, eachMs]) => durationMs >= eachMs)
  const [unit, unitMs] = units[index] ?? ['ms', 1]
  const [lesser, lesserMs] = units[index + 1] ?? ['', 0]
  const rest = lesserMs === 0 ? 0 : Math.floor((durationMs % unitMs) / lesserMs)
  return `${countText(Math.floor(durationMs / unitMs))} ${unit}${rest === 0 ? '' : ` ${rest} ${lesser}`}`
}
