import { isUtf8 } from 'node:buffer'
import { curlCommand, endpointName, failureText, plainText } from '../../../model/index.ts'
import { compareEvents, type ReceivedEvent } from '../../../receiver/index.ts'
import { payloadText } from '../../output/json.ts'
import { formatCount, formatTimeOfDay } from '../../output/numbers.ts'
import type { Style } from '../../output/style.ts'

/** Maximum lines of a payload: enough for all but extreme payloads. */
const linesMax = 10_000
const answerLinesMax = 50

/** Formats a whole request: method, path, answer, headers, payload, and the answer of the application. */
export function eventDetails(event: ReceivedEvent, style: Style): string {
  const { seq, method, path, atMs, reason, diagnosis, headers } = event
  const parts = [
    style.strong(`#${seq}  ${plainText(method)} ${plainText(path)}`),
    `${formatTimeOfDay(atMs)}  ${answerText(event)}`,
    ...(reason === null ? [] : [style.bad(plainText(reason))]),
    ...(diagnosis === null ? [] : [`Fix: ${plainText(diagnosis.fix)}`]),
    ...Object.entries(headers).map(
      ([name, value]) => `${style.name(plainText(name))}: ${plainText(value)}`,
    ),
    '',
    payloadText(event, style, linesMax),
    ...forwardDetails(event, style),
    '',
  ]
  return `${parts.join('\n')}\n`
}

function forwardDetails({ forward }: ReceivedEvent, style: Style): readonly string[] {
  if (forward === null) return []
  const { url, status, error, durationMs, answer } = forward
  const said = error === null ? `answered ${status ?? ''}` : failureText(error)
  const lines = answer.trim() === '' ? [] : answer.trimEnd().split(/\r?\n/).slice(0, answerLinesMax)
  return [
    '',
    `→ ${style.name(endpointName(url))} ${said} in ${durationMs} ms`,
    ...lines.map((line) => `  ${plainText(line)}`),
  ]
}

/** Formats the differences between two requests, field by field. */
export function comparisonText(event: ReceivedEvent, other: ReceivedEvent, style: Style): string {
  const { changes, more } = compareEvents(event, other)
  const title = `${style.strong(`#${other.seq} → #${event.seq}`)}  apart from messageId and timestamp`
  if (changes.length === 0) return `${title}, the payloads are equal\n`
  const lines = changes.map(({ path, before, after }) => {
    const [old, now] = [style.bad(before ?? 'absent'), style.good(after ?? 'absent')]
    return `  ${style.name(path)}  ${old} → ${now}`
  })
  const rest = more === 0 ? [] : [style.faint(`  … and ${formatCount(more)} more`)]
  return `${[title, ...lines, ...rest].join('\n')}\n`
}

function answerText({ status, durationMs, bytes, signature, injected }: ReceivedEvent): string {
  const parts = [
    status === null ? 'no answer' : `answered ${status}`,
    `in ${durationMs} ms`,
    ...(injected === null ? [] : [`(injected ${injected})`]),
  ]
  return `${parts.join(' ')}, ${formatCount(bytes)} bytes, signature ${signature}`
}

/** Returns a POSIX shell command that sends the bytes and headers of a request again, to the origin of `url`. */
export function curlText(event: ReceivedEvent, url: string): string {
  const { rawBody } = event
  const text = isUtf8(rawBody) ? rawBody.toString('utf8') : undefined
  const rawBase64 = rawBody.toString('base64')
  return curlCommand({ ...event, text, rawBase64 }, new URL(url).origin)
}
