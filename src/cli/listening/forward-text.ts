import { endpointName, formatDuration, limits } from '../../model/index.ts'
import type { Forwarding } from '../../receiver/index.ts'

/**
 * What is to be said of a forwarded request: that the target did not answer 2xx, with the first line of
 * its answer, and that a sender would not have waited so long. Nothing where all is well.
 */
export function forwardLines(forwarding: Forwarding | null): readonly string[] {
  if (forwarding === null) return []
  const { url, status, error, durationMs, answerLine } = forwarding
  const lines: string[] = []
  if (error !== null) {
    lines.push(`cannot forward to ${endpointName(url)}: ${error}${adviceOn(error)}`)
  } else if (status !== null && (status < 200 || status >= 300)) {
    const said = answerLine === '' ? '' : `: ${answerLine}`
    lines.push(`${endpointName(url)} answered ${status}${said}`)
  }
  if (durationMs > limits.endpointDeadlineMs) {
    const deadline = formatDuration(limits.endpointDeadlineMs)
    lines.push(`it took ${formatDuration(durationMs)}: senders give up after ${deadline}`)
  }
  return lines
}

/** What is said of a request that was forwarded again; undefined where no target takes it. */
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
