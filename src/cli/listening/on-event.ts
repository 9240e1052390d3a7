import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { messageOf, plainText, SettingError, systemCode } from '../../model/index.ts'
import { systemClock, timeoutSignal } from '../../runtime/index.ts'
import { countOf } from '../output/numbers.ts'
import { signalTree, spawnTree, type TreeCommand } from '../process-tree.ts'

/** The program of `--on-event`. */
export interface EventProgramOptions extends Omit<TreeCommand, 'stdio'> {
  /** Called with the output of the program, and with a line for each failed run. */
  readonly write: (text: string) => void
}

type WaitingEvent = Readonly<{ seq: number; line: string }>

/** Maximum number of concurrent runs. */
export const runsMax = 4
/** Maximum size of the event queue, in characters. Further events are skipped. */
const waitingCharactersMax = 32 * 1024 * 1024
/** Grace period for programs when the command ends without a signal. */
const finishMs = 5_000
const killGraceMs = 500
/** How long to read output after a program has ended. A process that it left behind could hold the pipe open. */
const outputGraceMs = 500

/**
 * Runs a program for every event, with the event as a line of JSON on stdin. A failed run is reported, not repeated.
 * Processes that a program leaves behind keep running, but their output is no longer read.
 */
export class EventProgram {
  readonly #options: EventProgramOptions
  readonly #waiting: WaitingEvent[] = []
  readonly #running = new Set<ChildProcess>()
  readonly #kill = (): void => this.#signal('SIGKILL')
  #waitingCharacters = 0
  #skipped = 0
  #idle = (): void => undefined
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: EventProgramOptions) {
    this.#options = options
    // End the programs even if a second signal or an error ends this process at once.
    process.once('exit', this.#kill)
  }

  /** Runs the program for an event as soon as fewer than {@link runsMax} are running. */
  run(seq: number, line: string): void {
    if (this.#closed) return
    if (this.#waitingCharacters + line.length > waitingCharactersMax) {
      this.#skipped++
      if (this.#skipped === 1) this.#report('cannot keep up: some events are skipped')
      return
    }
    this.#waiting.push({ seq, line })
    this.#waitingCharacters += line.length
    this.#startNext()
  }

  /** Waits up to 5 s for all events, or until `stop` aborts. Then ends the running programs. Idempotent. */
  close(stop: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(stop)
    return this.#closing
  }

  async #close(stop: AbortSignal): Promise<void> {
    await this.#untilIdle(AbortSignal.any([stop, timeoutSignal(finishMs)]))
    this.#closed = true
    this.#skipped += this.#waiting.length
    this.#waiting.length = 0
    this.#signal('SIGTERM')
    await this.#untilIdle(AbortSignal.timeout(killGraceMs))
    this.#kill()
    await this.#untilIdle()
    process.off('exit', this.#kill)
    if (this.#skipped > 0) this.#report(`was not run for ${countOf(this.#skipped, 'event')}`)
  }

  #startNext(): void {
    while (this.#running.size < runsMax) {
      const next = this.#waiting.shift()
      if (next === undefined) break
      this.#waitingCharacters -= next.line.length
      this.#start(next)
    }
    if (this.#running.size === 0) this.#idle()
  }

  #start({ seq, line }: WaitingEvent): void {
    const report = (failure: string): void => this.#report(`${failure} (event #${seq})`)
    const { program, args, env } = this.#options
    let child: ChildProcess
    try {
      child = spawnTree({ program, args, env, stdio: 'pipe' })
    } catch (error) {
      // `spawn` throws some failures, and emits the others as events.
      report(cannotRun(error))
      return
    }
    this.#running.add(child)
    const end = (failure: string | undefined): void => {
      if (!this.#running.delete(child)) return
      if (failure !== undefined) report(failure)
      this.#startNext()
    }
    child.once('error', (error) => end(cannotRun(error)))
    child.once('close', (code, signal) => end(failureOf(code, signal)))
    child.once('exit', () => endOutputOf(child))
    // A child has no streams if file descriptors have run out.
    child.stdout?.setEncoding('utf8').on('data', this.#options.write)
    child.stderr?.setEncoding('utf8').on('data', this.#options.write)
    // A program may exit without reading its input, so ignore that the pipe is closed.
    child.stdin?.on('error', () => undefined).end(line)
  }

  #signal(signal: NodeJS.Signals): void {
    // A program that could not be started has no pid.
    for (const { pid } of this.#running) if (pid !== undefined) signalTree(pid, signal)
  }

  #report(text: string): void {
    this.#options.write(`--on-event ${this.#options.program} ${text}\n`)
  }

  async #untilIdle(end?: AbortSignal): Promise<void> {
    if (this.#running.size === 0 || end?.aborted === true) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
      end?.addEventListener('abort', () => resolve(), { once: true })
    })
  }
}

function cannotRun(error: unknown): string {
  return `cannot be run: ${systemCode(error) ?? messageOf(error)}`
}

/** Reads the remaining output for a short time, then closes the pipes, so that the child emits `close`. */
function endOutputOf(child: ChildProcess): void {
  const timer = systemClock.schedule(outputGraceMs, () => {
    child.stdout?.destroy()
    child.stderr?.destroy()
  })
  child.once('close', () => timer.cancel())
}

function failureOf(code: number | null, signal: string | null): string | undefined {
  if (signal !== null) return `was ended by ${signal}`
  return code === 0 ? undefined : `ended with exit code ${code ?? ''}`
}

/** Checks that a program exists and is executable, before any event needs it. */
export async function checkProgram(
  program: string,
  { PATH = '' }: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  // Don't check on Windows, where the system tries several file extensions.
  if (process.platform === 'win32') return
  const paths = program.includes('/')
    ? [program]
    : PATH.split(delimiter).map((folder) => join(folder, program))
  try {
    await Promise.any(paths.map((path) => access(path, constants.X_OK)))
  } catch {
    throw new SettingError(
      '--on-event',
      `Cannot run ${plainText(program)}: there is no such program, or it is not executable`,
      'Check its name and PATH, or pass its interpreter as the program.',
    )
  }
}
