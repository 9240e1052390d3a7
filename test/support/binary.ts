import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { CapturedStream, type OutputRecord } from './io.ts'

/** The command as it is installed; it runs what `npm run build` made. */
export const binaryPath = fileURLToPath(new URL('../../bin/evroute.js', import.meta.url))

/** A process that ended: with a code, or by a signal. */
export interface Exited {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** The lines of stdout, parsed; asking for them fails where they are not NDJSON. */
  readonly records: readonly OutputRecord[]
}

/** A program that runs in a process of its own, without a terminal, until the test ends. */
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
    // A program need not read its input to the end.
    child.stdin.on('error', () => undefined)
    this.ended = this.#end()
    onTestFinished(() => void child.kill('SIGKILL'))
  }

  /** What the program reads as its input. */
  get stdin(): NodeJS.WritableStream {
    return this.#child.stdin
  }

  /** Sends a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Does what `| head` does once it has read enough. */
  closeStdout(): void {
    this.#child.stdout.destroy()
  }

  /** Goes away as a reader of all that the program writes. */
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

/** Starts the real command; nothing of this process's environment reaches it but PATH and HOME. */
export function startBinary(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): TestProcess {
  return new TestProcess(process.execPath, [binaryPath, ...argv], env)
}

/** Runs the real command to its end, with an empty input. */
export function runBinary(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Exited> {
  const command = startBinary(argv, env)
  command.stdin.end()
  return command.ended
}
