import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { messageOf, plainText, systemCode, type EvrouteError } from '../../model/index.ts'
import { sleep, systemClock } from '../../runtime/index.ts'
import { usageError } from '../output/error.ts'
import { signalTree, spawnTree, type TreeCommand } from '../process-tree.ts'

/** Time between SIGTERM and SIGKILL for processes that the command leaves behind. */
const leftoversGraceMs = 500
const leftoversLookMs = 20

/**
 * A command in a new process group, with the standard streams of this process. When this process exits, it ends the
 * whole group. It cannot do so after a SIGKILL. On Windows, it cannot reach a process whose parent has ended.
 */
export class Child {
  /** The exit code, as in a shell: 128 plus the signal's number if a signal ended the command. */
  readonly ended: Promise<number>
  readonly #pid: number
  readonly #kill = (): void => void this.signal('SIGKILL')
  #isGone = false

  private constructor(child: ChildProcess, program: string) {
    this.#pid = child.pid ?? 0
    this.ended = once(child, 'exit').then(
      ([code, signal]) => {
        this.signal(0)
        if (typeof code === 'number') return code
        return 128 + constants.signals[signal as NodeJS.Signals]
      },
      // On Windows, the shell reports only now that the program is missing.
      (error: unknown) => Promise.reject(cannotRun(program, error)),
    )
    // End the command even if a second signal or an error ends this process at once.
    process.once('exit', this.#kill)
  }

  /** @throws EvrouteError `invalid_usage` if the program does not exist or is not executable */
  static async start({ program, args, env }: Omit<TreeCommand, 'stdio'>): Promise<Child> {
    try {
      const child = spawnTree({ program, args, env, stdio: 'inherit' })
      await once(child, 'spawn')
      return new Child(child, program)
    } catch (error) {
      throw cannotRun(program, error)
    }
  }

  /** Signals the command and its processes; signal 0 only checks. Returns whether any of them still exists. */
  signal(signal: NodeJS.Signals | 0): boolean {
    // Never signal a finished group again, because the system may reuse its id.
    if (!this.#isGone) this.#isGone = !signalTree(this.#pid, signal)
    return !this.#isGone
  }

  async endLeftovers(): Promise<void> {
    this.signal('SIGTERM')
    for (let waitedMs = 0; this.signal(0); waitedMs += leftoversLookMs) {
      if (waitedMs >= leftoversGraceMs) {
        this.signal('SIGKILL')
        break
      }
      await sleep(systemClock, leftoversLookMs)
    }
    process.off('exit', this.#kill)
  }
}

function cannotRun(program: string, cause: unknown): EvrouteError {
  const name = plainText(program)
  const [reason, hint] = reasonsOf(systemCode(cause), messageOf(cause))
  return usageError(`Cannot run ${name}: ${reason}`, hint, cause)
}

function reasonsOf(code: string | undefined, message: string): readonly [string, string] {
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const hint = "Check its name and PATH. For shell syntax, write -- sh -c '...'."
    return ['there is no such program', hint]
  }
  if (code === 'EACCES') {
    return ['it is not executable', 'Make it executable, or pass its interpreter as the program.']
  }
  return [message, 'Check the command after --.']
}
