import { endpointName, failureText, plainText } from '../../../model/index.ts'
import { compareEvents, type ReceivedEvent } from '../../../receiver/index.ts'
import { shellWord } from '../../output/command-line.ts'
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

const headersSetByCurl = new Set([
  'host',
  'content-length',
  'connection',
  'transfer-encoding',
  'expect',
])

/** Returns a POSIX shell command that sends the bytes and headers of a request again. */
export function curlCommand(
  { path, headers, rawBody, method }: ReceivedEvent,
  url: string,
): string {
  const text = rawBody.toString('utf8')
  const isText =
    Buffer.from(text).equals(rawBody) && text.split('\n').every((line) => plainText(line) === line)
  const target = new URL(url).origin + (path.startsWith('/') ? path : '/')
  const words = ['curl', '-g', '-i', '-X', method, bytesWord(target)]
  for (const [name, value] of Object.entries(headers)) {
    if (headersSetByCurl.has(name)) continue
    // With a semicolon, curl sends an empty header; with a colon, it would remove the header.
    words.push('-H', bytesWord(value === '' ? `${name};` : `${name}: ${value}`))
  }
  // With --data-binary, a text that begins with @ would be read as a file name.
  words.push(...(isText ? ['--data-raw', shellWord(text)] : ['--data-binary', '@-']))
  const command = words.join(' ')
  return isText ? command : `echo ${rawBody.toString('base64')} | base64 -d | ${command}`
}

/** Quotes text with one character per byte, such as a header. Escapes bytes other than printable ASCII as octal. */
function bytesWord(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return shellWord(text)
  const octal = (byte: string): string => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`
  return `"$(printf -- ${shellWord(text.replace(/[^\x20-\x7e]|[\\%]/g, octal))})"`
}
