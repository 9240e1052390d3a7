import { shortText } from '../../model/index.ts'
import type { Ora } from 'ora'
import type { Io } from '../io.ts'

/** Shown only for what takes longer. */
const showAfterMs = 500
const refreshEveryMs = 200
/** Columns that the moving sign in front of the text takes, and one to spare. */
const signColumns = 3

/** Takes the line that tells how far a command is away for good. */
export type EndProgress = () => void

/**
 * Shows a line of progress on stderr when that is a terminal, after half a second; else does nothing.
 * While it is there, other lines that the process writes go above it.
 *
 * @param text - makes the line anew each time it is drawn
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
      // Left to itself ora would put stdin into raw mode, which a command that reads stdin breaks.
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
