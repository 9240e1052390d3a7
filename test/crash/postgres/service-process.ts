import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { binaryPath } from '../../support/binary.ts'
import type { Tally } from './tally.ts'

/** What a service process is started with. */
export interface ServiceProcessOptions {
  /** Stands for this process; no other one has it. */
  readonly number: number
  /** What its configuration file holds. */
  readonly document: object
  /** Where that file goes. */
  readonly folder: string
  /** Is told of `<number> ready`. */
  readonly tally: Tally
}

/** A service in a process of its own: `evroute serve`. */
export class ServiceProcess {
  /** Stands for this process. */
  readonly number: number
  /** Where it takes calls; undefined until it is ready, and once it is to end. */
  url: string | undefined
  /** Whether it was ended with a signal that it could not hear. */
  isKilled = false
  readonly #child: ChildProcess
  readonly #closed: Promise<readonly unknown[]>
  #said = ''
  #isDismissed = false

  private constructor(path: string, { number, tally }: ServiceProcessOptions) {
    this.number = number
    const command = [binaryPath, 'serve', '--config', path, '--json']
    const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.#closed = once(child, 'close')
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#said += text))
    createInterface({ input: child.stdout }).once('line', (line) => {
      if (!this.isKilled) this.url = (JSON.parse(line) as { readonly url: string }).url
      tally.note(`${number} ready`)
    })
  }

  /** Starts one; it need not be ready. */
  static async start(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const path = join(options.folder, `process-${options.number}.json`)
    await writeFile(path, JSON.stringify(options.document))
    return new ServiceProcess(path, options)
  }

  /** Ends it at once, without a chance to do anything; resolves once it is gone. */
  async kill(): Promise<void> {
    this.isKilled = true
    this.url = undefined
    this.#child.kill('SIGKILL')
    await this.#closed
  }

  /** Lets it end by itself; resolves once it has. */
  async close(): Promise<void> {
    this.#isDismissed = true
    this.url = undefined
    this.#child.kill('SIGTERM')
    await this.#closed
    this.#expectGoodEnd()
  }

  /**
   * Never resolves.
   *
   * @throws Error when it ends before anybody wants it to, with what it wrote to stderr
   */
  async lives(): Promise<never> {
    await this.#closed
    if (!this.isKilled && !this.#isDismissed) this.#expectGoodEnd()
    return await new Promise<never>(() => undefined)
  }

  #expectGoodEnd(): void {
    const { exitCode, signalCode } = this.#child
    if (this.#isDismissed && exitCode === 0) return
    const how = signalCode ?? String(exitCode)
    throw new Error(`Process ${this.number} ended with ${how}:\n${this.#said}`)
  }
}
