import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { CapturedStream, type OutputRecord } from './io.ts'

/** The installed command. It runs the output of `npm run build`. */
export const binaryPath = fileURLToPath(new URL('../../bin/evroute.js', import.meta.url))

/** The result of a process that ended, with a code or by a signal. */
export interface Exited {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** The lines of stdout, parsed. The getter throws if stdout is not NDJSON. */
  readonly records: readonly OutputRecord[]
}

/** A program in its own process, without a terminal. It is killed when the test ends. */
export class TestProcess {
  readonly stdout = new CapturedStream()
  readonly stderr = new CapturedStream()
  readonly ended: Promise<Exited>
  readonly #child: ChildProcessWithoutNullStreams

  constructor(program: string, argv: readonly string[], env: Readonly<Record<string, string>>) {
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(program, argv, { env: { PATH, HOME, ...env } })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', (text: string) => this.stdout.write(text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.stderr.write(text))
    // A program may end before it has read its whole input.
    child.stdin.on('error', () => undefined)
    this.ended = this.#end()
    onTestFinished(() => void child.kill('SIGKILL'))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** The program's stdin. */
  get stdin(): NodeJS.WritableStream {
    return this.#child.stdin
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Closes stdout, as `| head` does once it has read enough. */
  closeStdout(): void {
    this.#child.stdout.destroy()
  }

  /** Closes stdout and stderr. */
  closeOutput(): void {
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
  }

  async #end(): Promise<Exited> {
    const [code, signal] = (await once(this.#child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ]
    const { stdout, stderr } = this
    return {
      code,
      signal,
      stdout: stdout.text,
      stderr: stderr.text,
      get records() {
        return stdout.records
      },
    }
  }
}

/** Starts the installed command. Of this process's environment, it gets only PATH and HOME. */
export function startBinary(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): TestProcess {
  return new TestProcess(process.execPath, [binaryPath, ...argv], env)
}

/** Runs the installed command with an empty stdin until it ends. */
export function runBinary(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Exited> {
  const command = startBinary(argv, env)
  command.stdin.end()
  return command.ended
}
