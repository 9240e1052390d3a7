import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { binaryPath } from '../../support/binary.ts'
import type { Tally } from './tally.ts'

export interface ServiceProcessOptions {
  /** The unique number of the process. */
  readonly number: number
  /** The content of its configuration file. */
  readonly document: object
  readonly folder: string
  /** Counts `<number> ready`. */
  readonly tally: Tally
}

/** A service in its own process: `evroute serve`. */
export class ServiceProcess {
  /** The unique number of the process. */
  readonly number: number
  /** The URL for calls; undefined until it is ready, and once it is to end. */
  url: string | undefined
  /** Whether it was killed with SIGKILL. */
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

  /** Starts a service, without waiting until it is ready. */
  static async start(options: ServiceProcessOptions): Promise<ServiceProcess> {
    const path = join(options.folder, `process-${options.number}.json`)
    await writeFile(path, JSON.stringify(options.document))
    return new ServiceProcess(path, options)
  }

  /** Kills it with SIGKILL; resolves once it has ended. */
  async kill(): Promise<void> {
    this.isKilled = true
    this.url = undefined
    this.#child.kill('SIGKILL')
    await this.#closed
  }

  /** Asks it to end with SIGTERM; resolves once it has ended. */
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
   * @throws Error if it ends unexpectedly, with its stderr
   */
  async untilFailed(): Promise<never> {
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
