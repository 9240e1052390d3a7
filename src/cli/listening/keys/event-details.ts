import { plainText } from '../../../model/index.ts'
import type { ReceivedEvent } from '../../../receiver/index.ts'
import { formatCount } from '../../output/numbers.ts'
import type { Style } from '../../output/style.ts'
import { formatTimeOfDay } from '../../output/time.ts'
import { payloadText } from '../payload-text.ts'

/** Show whole payloads, but cut extreme ones. */
const linesMax = 10_000

/** A full request for a person: metadata, answer, headers and payload. */
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
    '',
  ]
  return `${parts.join('\n')}\n`
}

function answerText({ status, durationMs, bytes, signature, injected }: ReceivedEvent): string {
  const parts = [
    status === null ? 'no answer' : `answered ${status}`,
    `in ${durationMs} ms`,
    ...(injected === null ? [] : [`(injected ${injected})`]),
  ]
  return `${parts.join(' ')}, ${formatCount(bytes)} bytes, signature ${signature}`
}
