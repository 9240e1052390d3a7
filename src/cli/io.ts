import { constants } from 'node:os'
import { EvrouteError, messageOf, systemCode } from '../model/index.ts'
import type { Terminal } from './terminal/terminal.ts'

/** A stream that a command writes to. */
export interface OutputStream {
  /** Writes text; false when the reader is slower than we are. */
  write(text: string): boolean
  /** Calls the listener once the reader has caught up. */
  once(event: 'drain', listener: () => void): unknown
  /** Whether a person looks at it. */
  readonly isTTY?: boolean
  /** Its width in characters, when it is a terminal. */
  readonly columns?: number
}

/** Everything a command touches outside of its arguments. */
export interface Io {
  /** Input that `--file -` reads. */
  readonly stdin: AsyncIterable<Uint8Array> & { readonly isTTY?: boolean }
  /** Data, and nothing else. */
  readonly stdout: OutputStream
  /** Everything that is not data. */
  readonly stderr: OutputStream
  /** The environment's variables. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts when the command is to end early; its reason is a {@link StopReason}. */
  readonly stop: AbortSignal
  /** Aborts on a signal only: for what goes on without readers of its output. */
  readonly interrupted: AbortSignal
  /**
   * Calls the listener whenever a SIGHUP arrives, until the function it returns is called. Without a
   * listener a SIGHUP ends the process if one of its standard streams is a terminal.
   */
  readonly onHangUp?: (listener: () => void) => () => void
  /**
   * Calls the first listener before Ctrl-Z (SIGTSTP) stops this process, and the second one when it goes on,
   * until the function it returns is called.
   */
  readonly onSuspend?: (suspended: () => void, resumed: () => void) => () => void
  /** Where keys can be read: only where stdin, stdout and stderr are a terminal, and not a dumb one. */
  readonly terminal?: Terminal
}

/**
 * Why a command is asked to end early: a signal, that nobody reads its output any more, or the error
 * `cannot_write_file` when output cannot be written.
 */
export type StopReason = 'SIGINT' | 'SIGTERM' | 'output_closed' | EvrouteError

/** What the process gives, and a way to let go of it. */
export interface ProcessIo extends Io {
  /** Takes the signal handlers away again, and reads no more. */
  readonly release: () => void
}

/**
 * The process's own streams, environment and signals.
 *
 * The first SIGINT or SIGTERM asks the command to end. A second one ends the process at once with 130.
 * A SIGQUIT, and a SIGHUP without a listener, end it at once with codes of their own. Listeners to the
 * end of the process run in each case. A process without a terminal ignores SIGHUP, because nohup
 * started it or may have: Node resets the signals that its parent ignores.
 */
export async function processIo(): Promise<ProcessIo> {
  const interruption = new AbortController()
  const output = new AbortController()
  const onSignal = (signal: 'SIGINT' | 'SIGTERM'): void => {
    if (interruption.signal.aborted) process.exit(130)
    // What follows goes below the ^C that the terminal shows, unless keys are read one by one.
    const showsKeys = process.stderr.isTTY && !process.stdin.isRaw
    if (signal === 'SIGINT' && showsKeys) process.stderr.write('\n')
    interruption.abort(signal)
  }
  const onOutputError = (error: Error): void => output.abort(reasonOf(error))
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', hangUp)
  process.on('SIGQUIT', endAtOnce)
  process.stdout.on('error', onOutputError)
  process.stderr.on('error', onOutputError)
  const terminal = await processTerminal(() => onSignal('SIGINT'))
  let isInputRead = terminal !== undefined
  return {
    // Made when it is asked for: that takes as long as the rest of this, and few commands read it.
    get stdin() {
      isInputRead = true
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    stop: AbortSignal.any([interruption.signal, output.signal]),
    interrupted: interruption.signal,
    onHangUp: (listener) => {
      process.off('SIGHUP', hangUp).on('SIGHUP', listener)
      return () => process.off('SIGHUP', listener).on('SIGHUP', hangUp)
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
      process.off('SIGINT', onSignal)
      process.off('SIGTERM', onSignal)
      process.off('SIGHUP', hangUp)
      process.off('SIGQUIT', endAtOnce)
      // A command that was stopped may still wait for input, which would keep the process alive.
      if (isInputRead) process.stdin.destroy()
    },
  }
}

/** @param interrupt - does what a SIGINT does */
async function processTerminal(interrupt: () => void): Promise<Terminal | undefined> {
  const { stdout, stderr, env } = process
  if (!(stdout.isTTY && stderr.isTTY && process.stdin.isTTY) || env['TERM'] === 'dumb')
    return undefined
  const { ProcessTerminal } = await import('./terminal/process-terminal.ts')
  return new ProcessTerminal(interrupt)
}

function hangUp(signal: NodeJS.Signals): void {
  const { stdin, stdout, stderr } = process
  if ([stdin, stdout, stderr].some(({ isTTY }) => isTTY)) endAtOnce(signal)
}

/** A signal's own end of a process tells nobody. */
function endAtOnce(signal: NodeJS.Signals): never {
  process.exit(128 + constants.signals[signal])
}

function reasonOf(error: Error): StopReason {
  if (systemCode(error) === 'EPIPE') return 'output_closed'
  return new EvrouteError({
    code: 'cannot_write_file',
    message: `Cannot write the output: ${messageOf(error)}`,
    hint: 'Check that there is room where it goes.',
    cause: error,
  })
}

/** Writes data to stdout: nothing once the reader is gone, and no faster than it reads. */
export class DataWriter {
  readonly #io: Io
  #drained: Promise<void> | undefined

  /** @param io - whose stdout is written to */
  constructor(io: Io) {
    this.#io = io
  }

  /** Writes now; {@link ready} tells when to go on. */
  write(text: string): void {
    if (isOutputGone(this.#io.stop) || this.#io.stdout.write(text)) return
    // Nobody waits for a drain once the command is to end.
    if (this.#io.stop.aborted) return
    // Asked for right after the write: a drain that came before is not told again.
    this.#drained ??= drained(this.#io).then(() => (this.#drained = undefined))
  }

  /** Resolves once the reader has caught up, or the command is to end early. */
  async ready(): Promise<void> {
    await this.#drained
  }
}

/** Writes data and waits for a reader that is slower. Resolves at once when the reader went away. */
export async function writeData(io: Io, text: string): Promise<void> {
  const writer = new DataWriter(io)
  writer.write(text)
  await writer.ready()
}

/** Whether stdout leads nowhere any more. */
function isOutputGone({ reason }: AbortSignal): boolean {
  return reason === 'output_closed' || reason instanceof EvrouteError
}

async function drained(io: Io): Promise<void> {
  await stoppable(new Promise<void>((resolve) => io.stdout.once('drain', resolve)), io.stop)
}

/** Resolves as the work does, or with undefined as soon as the command is to end early. */
export async function stoppable<Result>(
  work: Promise<Result>,
  stop: AbortSignal,
): Promise<Result | undefined> {
  let end = (): void => undefined
  const stopped = new Promise<undefined>((resolve) => (end = () => resolve(undefined)))
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work, stopped])
  } finally {
    stop.removeEventListener('abort', end)
  }
}
