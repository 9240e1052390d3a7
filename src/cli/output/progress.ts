import { formatDuration, shortText } from '../../model/index.ts'
import type { Ora } from 'ora'
import type { Io } from '../io.ts'
import { formatCount } from './numbers.ts'
import { wantsColor } from './style.ts'

/** Delay before the progress line appears. Shorter commands show none. */
const showAfterMs = 500
const refreshEveryMs = 200
/** The interval between progress lines if stderr is not a terminal. */
const logEveryMs = 60_000
/** Columns to keep free for the spinner, an echoed ^C and one more: a line that wraps cannot be erased. */
const signColumns = 5

/** Removes the progress line. */
export type EndProgress = () => void

/** The counts that the progress line shows. */
export interface Progress {
  readonly done: number
  /** The number of all rows; an estimate while a file is being read. Undefined if unknown. */
  readonly total: number | undefined
  readonly pending: number
  readonly failed: number
  readonly elapsedMs: number
  /** A description of the last failed request; empty if none failed. */
  readonly problem: string
}

/** Formats a progress line: total, percentage, rate, time left, pending, failed. */
export function progressText(progress: Progress): string {
  const { done, total, pending, failed, elapsedMs, problem } = progress
  const known = total === undefined ? undefined : Math.max(total, done)
  const share = known === undefined || known === 0 ? undefined : done / known
  const remainingMs = share === undefined || share === 0 ? 0 : (elapsedMs * (1 - share)) / share
  return [
    share === undefined
      ? `${formatCount(done)} done`
      : `${formatCount(done)} of ${formatCount(known ?? 0)} (${Math.floor(share * 100)}%)`,
    `${formatCount(Math.round(done / (elapsedMs / 1_000)))}/s`,
    ...(remainingMs > 0 ? [`${formatDuration(Math.ceil(remainingMs / 1_000) * 1_000)} left`] : []),
    ...(pending > 0 ? [`${formatCount(pending)} pending`] : []),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(problem === '' ? [] : [`last problem: ${problem}`]),
  ].join(' · ')
}

interface ProgressView {
  readonly color: boolean
  /** Hides the line on a terminal. Has no effect without a terminal. */
  readonly quiet: boolean
  /** Repeats a task until the returned function is called. Does not keep the process alive. */
  readonly repeat?: (intervalMs: number, task: () => void) => EndProgress
}

/** Shows a progress line on stderr after 500 ms. Without a terminal, writes the text every minute; skips empty text. */
export function startProgress(
  io: Io,
  text: () => string,
  { color, quiet, repeat = every }: ProgressView,
): EndProgress {
  if (io.stderr.isTTY !== true || io.env['TERM'] === 'dumb') {
    return repeat(logEveryMs, () => {
      const line = text()
      if (line !== '') io.stderr.write(`${line}\n`)
    })
  }
  return quiet ? () => undefined : spin(io, text, color)
}

function every(intervalMs: number, task: () => void): EndProgress {
  const timer = setInterval(task, intervalMs).unref()
  return () => clearInterval(timer)
}

function spin(io: Io, text: () => string, color: boolean): EndProgress {
  const line = (): string => shortText(text(), (io.stderr.columns ?? 80) - signColumns)
  let spinner: Ora | undefined
  let isOver = false
  const begin = async (): Promise<void> => {
    const { default: ora } = await import('ora')
    if (isOver) return
    spinner = ora({
      text: line(),
      stream: process.stderr,
      color: wantsColor(io, io.stderr, color) ? 'cyan' : false,
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
