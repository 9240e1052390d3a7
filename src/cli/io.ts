import { constants } from 'node:os'
import { EvrouteError, messageOf, recordLine, systemCode } from '../model/index.ts'
import type { Terminal } from './terminal/process-terminal.ts'

/** The part of stdout and stderr that commands use. */
export interface OutputStream {
  /** Writes text. Returns false if the writer should wait for `drain`. */
  write(text: string): boolean
  /** Calls the listener once, when the reader has caught up. */
  once(event: 'drain', listener: () => void): unknown
  readonly isTTY?: boolean
  /** The width of a terminal, in characters; undefined if it is unknown. */
  readonly columns?: number | undefined
}

/** The streams, environment and signals that a command uses. */
export interface Io {
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean }
  /** For data only. Everything else, such as errors and progress, goes to stderr. */
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the command must end early. The reason is a {@link StopReason}. */
  readonly stop: AbortSignal
  /** Like `stop`, but aborts only on a signal. */
  readonly interrupted: AbortSignal
  /**
   * Calls the listener on each SIGHUP, and now if there was one before. The returned function removes it. Without a
   * listener, a SIGHUP ends the process if one of its standard streams is a terminal.
   */
  readonly onHangUp?: (listener: () => void) => () => void
  /** Calls the listeners before Ctrl-Z stops the process, and when it continues. The returned function removes both. */
  readonly onSuspend?: (suspended: () => void, resumed: () => void) => () => void
  /** Set if stdin, stdout and stderr are all a terminal, and it is not dumb. */
  readonly terminal?: Terminal
}

/** Why a command must end early: a signal, a closed stdout, or the error `cannot_write_file`. */
export type StopReason = 'SIGINT' | 'SIGTERM' | 'output_closed' | EvrouteError

/** The streams and signals of the process. */
export interface ProcessIo extends Io {
  /** Stops reading stdin. Signals are still handled, so that one that comes late does not replace the exit code. */
  readonly release: () => void
}

/**
 * Returns the streams, environment and signals of this process.
 *
 * - The first SIGINT or SIGTERM asks the command to end. The second one ends the process with 130
 * - SIGQUIT, or a SIGHUP without a listener, ends the process with the code of the signal
 * - A process without a terminal ignores SIGHUP. Otherwise nohup would not work, because Node resets what nohup set
 */
export async function processIo(): Promise<ProcessIo> {
  const interruption = new AbortController()
  const output = new AbortController()
  const onSignal = (signal: 'SIGINT' | 'SIGTERM'): void => {
    if (interruption.signal.aborted) process.exit(130)
    // Begin a new line after the ^C that the terminal echoes. In raw mode it echoes nothing.
    const showsKeys = process.stderr.isTTY && !process.stdin.isRaw
    if (signal === 'SIGINT' && showsKeys) process.stderr.write('\n')
    // The exit waits for threads, and a thread may hang on a disk. Let a further signal kill the process then.
    process.once('exit', () => process.off('SIGINT', onSignal).off('SIGTERM', onSignal))
    interruption.abort(signal)
  }
  let wasHungUp = false
  const hangUp = (signal: NodeJS.Signals): void => {
    const { stdin, stdout, stderr } = process
    if ([stdin, stdout, stderr].some(({ isTTY }) => isTTY)) endAtOnce(signal)
    wasHungUp = true
  }
  const onOutputError = (error: Error): void => output.abort(reasonOf(error))
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  process.on('SIGHUP', hangUp).on('SIGQUIT', endAtOnce)
  process.stdout.on('error', onOutputError)
  process.stderr.on('error', onOutputError)
  const terminal = await processTerminal(() => onSignal('SIGINT'))
  let isInputRead = terminal !== undefined
  return {
    // Open stdin on demand. Few commands read it, and opening it takes as long as all else in this function.
    get stdin() {
      isInputRead = true
      return process.stdin
    },
    stdout: outputOf(process.stdout),
    stderr: outputOf(process.stderr),
    env: process.env,
    stop: AbortSignal.any([interruption.signal, output.signal]),
    interrupted: interruption.signal,
    onHangUp: (listener) => {
      // Add before removing: without a listener, Node drops a signal that it has not handled yet.
      process.on('SIGHUP', listener).off('SIGHUP', hangUp)
      if (wasHungUp) listener()
      return () => process.on('SIGHUP', hangUp).off('SIGHUP', listener)
    },
    onSuspend: (suspended, resumed) => {
      const suspend = (): void => {
        suspended()
        process.kill(process.pid, 'SIGSTOP')
      }
      process.on('SIGTSTP', suspend).on('SIGCONT', resumed)
      return () => process.off('SIGTSTP', suspend).off('SIGCONT', resumed)
    },
    ...(terminal === undefined ? {} : { terminal }),
    release: () => {
      // An interrupted command may still wait for input, which would keep the process alive.
      if (isInputRead) process.stdin.destroy()
    },
  }
}

function outputOf(stream: NodeJS.WriteStream): OutputStream {
  return {
    write: (text) => stream.write(text),
    once: (event, listener) => stream.once(event, listener),
    isTTY: stream.isTTY,
    get columns() {
      // The terminal of a container may have the width 0.
      return stream.columns || undefined
    },
  }
}

/** @param interrupt - acts like a SIGINT */
async function processTerminal(interrupt: () => void): Promise<Terminal | undefined> {
  const { stdout, stderr, env } = process
  if (!(stdout.isTTY && stderr.isTTY && process.stdin.isTTY) || env['TERM'] === 'dumb')
    return undefined
  const { ProcessTerminal } = await import('./terminal/process-terminal.ts')
  return new ProcessTerminal(interrupt)
}

/** Ends the process with the code of a signal. Unlike the signal itself, runs the `exit` listeners. */
function endAtOnce(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal])
}

function reasonOf(error: Error): StopReason {
  if (systemCode(error) === 'EPIPE') return 'output_closed'
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the output: ${messageOf(error)}`,
    hint: 'Check that there is free space where the output goes.',
    cause: error,
  })
}

/** Writes data to stdout no faster than it is read. Writes nothing after stdout was closed. */
export class DataWriter {
  readonly #io: Io
  #drained: Promise<void> | undefined

  constructor(io: Io) {
    this.#io = io
  }

  /** Writes now. Await {@link ready} before the next write. */
  write(text: string): void {
    if (isOutputGone(this.#io.stop) || this.#io.stdout.write(text)) return
    // A command that ends early doesn't wait for a drain.
    if (this.#io.stop.aborted) return
    // Listen at once, because a missed `drain` event does not repeat.
    this.#drained ??= drained(this.#io).then(() => (this.#drained = undefined))
  }

  record(record: Readonly<Record<string, unknown>>): void {
    this.write(recordLine(record))
  }

  /** Resolves when the reader has caught up or the command must end early. */
  async ready(): Promise<void> {
    await this.#drained
  }
}

/** Writes data, and waits until a slow reader has caught up. */
export async function writeData(io: Io, text: string): Promise<void> {
  const writer = new DataWriter(io)
  writer.write(text)
  await writer.ready()
}

function isOutputGone({ reason }: AbortSignal): boolean {
  return reason === 'output_closed' || reason instanceof EvrouteError
}

async function drained(io: Io): Promise<void> {
  const drain = new Promise<void>((resolve) => io.stdout.once('drain', resolve))
  // Import here: `--version` starts without the runtime.
  const { stoppable } = await import('../runtime/index.ts')
  await stoppable(drain, io.stop)
}
