import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { EvrouteError, messageOf, plainText, systemCode } from '../../model/index.ts'
import { sleep, systemClock } from '../../runtime/index.ts'

/** What is run. */
export interface ChildCommand {
  /** A path, or a name that is looked up in PATH. No shell reads it. */
  readonly program: string
  /** Its arguments, each as it is. */
  readonly args: readonly string[]
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What is left of a command is given so long between being asked to end and being ended. */
const leftoversGraceMs = 500
const leftoversLookMs = 20

/**
 * A command in a process group of its own, with the standard streams of this process. Nothing of it
 * outlives this process, however it ends, unless it leaves the group or this process is killed outright.
 */
export class Child {
  /** What a shell would call its exit code: 128 and the signal's number where one ended it. */
  readonly ended: Promise<number>
  readonly #groupId: number
  readonly #kill = (): void => this.signal('SIGKILL')
  #isGone = false

  private constructor(child: ChildProcess, groupId: number) {
    this.#groupId = groupId
    this.ended = once(child, 'exit').then(([code, signal]) => {
      this.#send(0)
      return exitCode(code, signal)
    })
    // A second signal ends this process at once, and an error can.
    process.once('exit', this.#kill)
  }

  /** @throws EvrouteError `invalid_usage` where there is no such program, or it may not be run */
  static async start({ program, args, env }: ChildCommand): Promise<Child> {
    try {
      const child = spawn(program, args, { env: { ...env }, stdio: 'inherit', detached: true })
      await once(child, 'spawn')
      return new Child(child, child.pid ?? 0)
    } catch (error) {
      throw cannotRun(program, error)
    }
  }

  /** Sends a signal to the command and to all that it has started. */
  signal(signal: NodeJS.Signals): void {
    this.#send(signal)
  }

  /** Ends what the command has left behind. The command itself has to have ended. */
  async endLeftovers(): Promise<void> {
    this.#send('SIGTERM')
    for (let waitedMs = 0; this.#send(0); waitedMs += leftoversLookMs) {
      if (waitedMs >= leftoversGraceMs) {
        this.#send('SIGKILL')
        break
      }
      await sleep(systemClock, leftoversLookMs)
    }
    process.off('exit', this.#kill)
  }

  /** @returns whether there is anybody to get it; never again once there was nobody */
  #send(signal: NodeJS.Signals | 0): boolean {
    // The system may give the number of a group that is gone to another one.
    if (this.#isGone) return false
    try {
      return process.kill(-this.#groupId, signal)
    } catch {
      this.#isGone = true
      return false
    }
  }
}

function exitCode(code: unknown, signal: unknown): number {
  if (typeof code === 'number') return code
  return 128 + constants.signals[signal as NodeJS.Signals]
}

function cannotRun(program: string, cause: unknown): EvrouteError {
  const name = plainText(program)
  const [reason, hint] = reasonsOf(systemCode(cause), messageOf(cause))
  const message = `Cannot run ${name}: ${reason}`
  return new EvrouteError({ code: 'invalid_usage', message, hint, cause })
}

function reasonsOf(code: string | undefined, message: string): readonly [string, string] {
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const hint = "Check its name and PATH. What a shell should read is given as -- sh -c '...'."
    return ['there is no such program', hint]
  }
  if (code === 'EACCES') {
    return ['it may not be executed', 'Make it executable, or name the program that reads it.']
  }
  return [message, 'Check the command behind --.']
}
