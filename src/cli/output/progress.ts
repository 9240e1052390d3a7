import ora, { type Ora } from 'ora'
import type { Io } from '../io.ts'

/** Shown only for what takes longer. */
const showAfterMs = 500
const refreshEveryMs = 200

/** A line on the terminal that tells how far a command is. */
export interface Progress {
  /** Takes the line away, writes other text in its place, and puts the line back. */
  around(write: () => void): void
  /** Takes the line away for good. */
  stop(): void
}

const noProgress: Progress = Object.freeze({
  around: (write: () => void) => write(),
  stop: () => undefined,
})

/**
 * Shows progress on stderr when that is a terminal, after half a second; else does nothing.
 *
 * @param text - makes the line anew each time it is drawn
 */
export function startProgress(io: Io, text: () => string): Progress {
  if (io.stderr.isTTY !== true || io.env['TERM'] === 'dumb') return noProgress
  let spinner: Ora | undefined
  const begin = setTimeout(() => {
    // Left to itself ora would put stdin into raw mode, which a command that reads stdin breaks.
    spinner = ora({ text: text(), stream: process.stderr, discardStdin: false }).start()
  }, showAfterMs)
  const refresh = setInterval(() => {
    if (spinner !== undefined) spinner.text = text()
  }, refreshEveryMs)
  return {
    around: (write) => {
      spinner?.clear()
      write()
      spinner?.render()
    },
    stop: () => {
      clearTimeout(begin)
      clearInterval(refresh)
      spinner?.stop()
    },
  }
}
