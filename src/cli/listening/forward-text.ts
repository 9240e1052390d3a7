import { endpointName, failureText, formatDuration, limits, shortText } from '../../model/index.ts'
import type { Forwarding, ReceivedEvent } from '../../receiver/index.ts'

const answerCharactersMax = 200

/**
 * Warnings about a forwarded request: an error, a status other than 2xx with the first line of the answer, or
 * an answer later than a sender would wait. Empty if all is well.
 */
export function forwardLines(forwarding: Forwarding | null): readonly string[] {
  if (forwarding === null) return []
  const { url, status, error, durationMs, answer } = forwarding
  const lines: string[] = []
  if (error !== null) {
    lines.push(`cannot forward to ${endpointName(url)}: ${failureText(error)}${adviceOn(error)}`)
  } else if (status !== null && (status < 200 || status >= 300)) {
    const line = answer.split(/[\r\n]+/).find((each) => each.trim() !== '') ?? ''
    const said = line === '' ? '' : `: ${shortText(line.trim(), answerCharactersMax)}`
    lines.push(`${endpointName(url)} answered ${status}${said}`)
  }
  if (durationMs > limits.endpointDeadlineMs) {
    const deadline = formatDuration(limits.endpointDeadlineMs)
    lines.push(`it took ${formatDuration(durationMs)}: senders give up after ${deadline}`)
  }
  return lines
}

/** The statuses with which applications refuse a signature. */
const refusals: readonly (number | null | undefined)[] = [400, 401, 403]

/** How to find out why an application refused a valid signature; empty if it did not. */
export function checkAdvice({
  forward,
  signature,
}: Pick<ReceivedEvent, 'forward' | 'signature'>): readonly string[] {
  if (signature !== 'valid' || forward === null || !refusals.includes(forward.status)) return []
  const command = `evroute check ${endpointName(forward.url)} --secret ...`
  return [`its signature is valid: \`${command}\` finds out why it is refused`]
}

/**
 * The message after a request was forwarded again.
 *
 * @param forwarding - undefined if no target takes its type
 */
export function resentText(forwarding: Forwarding | undefined): string {
  if (forwarding === undefined) return 'no --forward-to takes its type'
  const lines = forwardLines(forwarding)
  if (lines.length > 0) return lines.join('; ')
  const { url, status, durationMs } = forwarding
  return `${endpointName(url)} answered ${status ?? ''} in ${formatDuration(durationMs)}`
}

function adviceOn(error: string): string {
  if (error === 'ECONNREFUSED') return '; nothing listens there'
  if (error === 'timeout') return '; --forward-timeout 0 waits as long as it takes'
  return ''
}
