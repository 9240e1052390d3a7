import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'

export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it wrote to stderr. */
  readonly errors: string
}

/** A deliverer in its own process. */
export class DelivererProcess {
  /** Resolves once the process has ended and all its output has been passed on. */
  readonly ended: Promise<ProcessEnd>
  readonly #child: ChildProcessWithoutNullStreams
  #errors = ''

  /** Starts a deliverer; `heard` gets each complete line of its output. */
  constructor(argv: readonly string[], heard: (line: string) => void) {
    this.#child = spawn(process.execPath, argv, { stdio: 'pipe' })
    let rest = ''
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      // An incomplete line doesn't count: the kill cut it off.
      rest = lines.pop() ?? ''
      for (const line of lines) heard(line)
    })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => (this.#errors += chunk))
    // Calls that it doesn't read are not acknowledged, so they are sent again.
    this.#child.stdin.on('error', () => undefined)
    this.ended = this.#end()
  }

  /** Writes a line to its stdin. */
  send(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  /** Closes its stdin, so that it ends by itself. */
  dismiss(): void {
    this.#child.stdin.end()
  }

  /** Kills it with SIGKILL. */
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
