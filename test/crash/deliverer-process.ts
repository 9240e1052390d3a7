import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it wrote to stderr. */
  readonly errors: string
}

/** A deliverer in a process of its own. */
export class DelivererProcess {
  /** Resolves once it is gone and all that it said was handed on. */
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcessWithoutNullStreams
  #errors = ''

  /** Starts one; `heard` gets every line that it completes. */
  constructor(argv: readonly string[], heard: (line: string) => void) {
    this.#child = spawn(process.execPath, argv, { stdio: 'pipe' })
    let rest = ''
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      // A line that the kill cut off was never said.
      rest = lines.pop() ?? ''
      for (const line of lines) heard(line)
    })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => (this.#errors += chunk))
    // What it no longer reads is not acknowledged, and sent again.
    this.#child.stdin.on('error', () => undefined)
    this.ended = this.#end()
  }

  /** Tells it a line. */
  tell(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** Lets it end by itself. */
  dismiss(): void {
    this.#child.stdin.end()
  }

  /** Ends it at once, without a chance to do anything. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async #end(): Promise<ProcessEnd> {
    const [code, signal] = (await once(this.#child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ]
    return { code, signal, errors: this.#errors }
  }
}
