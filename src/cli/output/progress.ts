import { shortText } from '../../model/index.ts'
import type { Ora } from 'ora'
import type { Io } from '../io.ts'

/** Commands that end sooner show no progress. */
const showAfterMs = 500
const refreshEveryMs = 200
/** The spinner's columns, and one to spare. */
const signColumns = 3

/** Removes the progress line. */
export type EndProgress = () => void

/**
 * Shows a progress line on stderr after half a second, if stderr is a terminal. Other output goes above it.
 *
 * @param text - returns the current line
 */
export function startProgress(io: Io, text: () => string, color: boolean): EndProgress {
  if (io.stderr.isTTY !== true || io.env['TERM'] === 'dumb') return () => undefined
  const line = (): string => shortText(text(), (io.stderr.columns ?? 80) - signColumns)
  let spinner: Ora | undefined
  let isOver = false
  const begin = async (): Promise<void> => {
    const { default: ora } = await import('ora')
    if (isOver) return
    spinner = ora({
      text: line(),
      stream: process.stderr,
      color: color ? 'cyan' : false,
      isEnabled: true,
      // By default ora puts stdin into raw mode, which breaks commands that read stdin.
      discardStdin: false,
    }).start()
  }
  const beginLater = setTimeout(() => void begin(), showAfterMs)
  const refresh = setInterval(() => {
    if (spinner !== undefined) spinner.text = line()
  }, refreshEveryMs)
  return () => {
    isOver = true
    clearTimeout(beginLater)
    clearInterval(refresh)
    spinner?.stop()
  }
}
