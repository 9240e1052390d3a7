import { spawn, type ChildProcess } from 'node:child_process'
import { systemCode, messageOf } from '../../model/index.ts'
import { systemClock } from '../../runtime/index.ts'

/** What is run for every event. */
export interface EventProgramOptions {
  /** The program, a path or a name that is looked up in PATH. No shell reads it. */
  readonly program: string
  /** Its arguments, each as it is. */
  readonly args: readonly string[]
  /** Its environment. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Is given what it prints, and a line for every run that failed. */
  readonly write: (text: string) => void
}

/** An event on its way to the program. */
interface WaitingEvent {
  readonly seq: number
  readonly line: string
}

/** Runs at once at the most. */
export const runsMax = 4
/** Text of events that wait for their run at the most; what comes then is not run. */
const waitingCharactersMax = 32 * 1024 * 1024
/** Time that everything is given when the command ends by itself. */
const finishMs = 5_000
/** Time between asking a run to end and ending it. */
const killMs = 500
/** Time for output after a program has ended: somebody it has left behind may hold it open for ever. */
const outputGraceMs = 500

/**
 * Runs a program for every event, with the event as one line of JSON on its standard input. Whatever
 * becomes of it is told and changes nothing else: nobody waits for it. What it leaves running when it
 * ends goes on, and is not heard any more.
 */
export class EventProgram {
  readonly #options: EventProgramOptions
  readonly #waiting: WaitingEvent[] = []
  readonly #running = new Set<ChildProcess>()
  readonly #kill = (): void => this.#signal('SIGKILL')
  #waitingCharacters = 0
  #left = 0
  #idle = (): void => undefined
  #closed = false
  #closing: Promise<void> | undefined

  constructor(options: EventProgramOptions) {
    this.#options = options
    // A second signal ends this process at once, and an error can.
    process.once('exit', this.#kill)
  }

  /** Runs the program for an event, as soon as fewer than {@link runsMax} run. */
  run(seq: number, line: string): void {
    if (this.#closed) return
    if (this.#waitingCharacters + line.length > waitingCharactersMax) {
      this.#leave()
      return
    }
    this.#waiting.push({ seq, line })
    this.#waitingCharacters += line.length
    this.#startNext()
  }

  /**
   * Gives what runs and what waits 5 s to come to its end, or none where `stop` aborts; then ends it, with
   * all that the program has started. Resolves once nothing runs any more. Called again it waits for the
   * same end.
   */
  close(stop: AbortSignal): Promise<void> {
    this.#closing ??= this.#close(stop)
    return this.#closing
  }

  async #close(stop: AbortSignal): Promise<void> {
    await this.#untilIdle({ stop, timeoutMs: finishMs })
    this.#closed = true
    this.#left += this.#waiting.length
    this.#waiting.length = 0
    this.#signal('SIGTERM')
    await this.#untilIdle({ timeoutMs: killMs })
    this.#kill()
    await this.#untilIdle({})
    process.off('exit', this.#kill)
    if (this.#left > 0) this.#tell(`was not run for ${this.#left} of the events`)
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
    const tell = (failure: string): void => this.#tell(`${failure} (event #${seq})`)
    const child = this.#spawn(tell)
    if (child === undefined) return
    this.#running.add(child)
    const end = (failure: string | undefined): void => {
      if (!this.#running.delete(child)) return
      if (failure !== undefined) tell(failure)
      this.#startNext()
    }
    child.once('error', (error) => end(cannotRun(error)))
    child.once('close', (code, signal) => end(failureOf(code, signal)))
    child.once('exit', () => endOutputOf(child))
    // There are no streams where there are too many open files for them.
    child.stdout?.setEncoding('utf8').on('data', this.#options.write)
    child.stderr?.setEncoding('utf8').on('data', this.#options.write)
    // A program need not read its input.
    child.stdin?.on('error', () => undefined).end(line)
  }

  /** Some failures are thrown, others are events. */
  #spawn(tell: (failure: string) => void): ChildProcess | undefined {
    const { program, args, env } = this.#options
    try {
      // A group of its own, so that what the program starts ends with it.
      return spawn(program, args, { env: { ...env }, stdio: 'pipe', detached: true })
    } catch (error) {
      tell(cannotRun(error))
      return undefined
    }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const child of this.#running) signalGroup(child, signal)
  }

  #leave(): void {
    this.#left++
    if (this.#left === 1) this.#tell('is slower than events come: it is not run for some of them')
  }

  #tell(text: string): void {
    this.#options.write(`--on-event ${this.#options.program} ${text}\n`)
  }

  /** Resolves when nothing runs or waits, the time is over, or the signal aborts. */
  #untilIdle(bounds: { readonly stop?: AbortSignal; readonly timeoutMs?: number }): Promise<void> {
    const { stop, timeoutMs } = bounds
    if (this.#running.size === 0 || stop?.aborted === true) return Promise.resolve()
    return new Promise((resolve) => {
      const timer =
        timeoutMs === undefined ? undefined : systemClock.schedule(timeoutMs, () => end())
      const end = (): void => {
        timer?.cancel()
        stop?.removeEventListener('abort', end)
        this.#idle = () => undefined
        resolve()
      }
      this.#idle = end
      stop?.addEventListener('abort', end, { once: true })
    })
  }
}

function cannotRun(error: unknown): string {
  return `cannot be run: ${systemCode(error) ?? messageOf(error)}`
}

/** Reads what is still to come for a while, and then no more: only then has the child closed. */
function endOutputOf(child: ChildProcess): void {
  const timer = systemClock.schedule(outputGraceMs, () => {
    child.stdout?.destroy()
    child.stderr?.destroy()
  })
  child.once('close', () => timer.cancel())
}

function failureOf(code: number | null, signal: string | null): string | undefined {
  if (signal !== null) return `was ended by ${signal}`
  return code === 0 ? undefined : `ended with ${code ?? ''}`
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // It ended on its own meanwhile.
  }
}
