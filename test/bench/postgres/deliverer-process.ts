import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Command } from './commands.ts'
import type { DelivererSettings } from './deliverer.ts'
import type { PeerSettings } from './peer-deliverer.ts'

/** A process that delivers when it is told to. */
export class DelivererProcess {
  readonly #child: ChildProcess
  /** Rejects once the process has ended. */
  readonly #ended: Promise<never>

  private constructor(program: string, settings: DelivererSettings | PeerSettings) {
    const path = fileURLToPath(new URL(program, import.meta.url))
    this.#child = fork(path, [JSON.stringify(settings)])
    this.#ended = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`${program} has ended with ${String(code)}`)
    })
    this.#ended.catch(() => undefined)
  }

  /** Starts one that delivers from a store. */
  static async evroute(settings: DelivererSettings): Promise<DelivererProcess> {
    return await new DelivererProcess('deliverer.ts', settings).#ready()
  }

  /** Starts one that delivers with graphile-worker. */
  static async peer(settings: PeerSettings): Promise<DelivererProcess> {
    return await new DelivererProcess('peer-deliverer.ts', settings).#ready()
  }

  /** Begins to deliver. */
  start(): Promise<void> {
    return this.#tell('start', 'started')
  }

  /** Lets what is under way end. */
  stop(): Promise<void> {
    return this.#tell('stop', 'stopped')
  }

  /** Ends the process, and waits for that. */
  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    await this.#ended.catch(() => undefined)
  }

  async #ready(): Promise<this> {
    try {
      await this.#hear('ready')
      return this
    } catch (error) {
      await this.end()
      throw error
    }
  }

  async #tell(command: Command, answer: Answer): Promise<void> {
    this.#child.send(command)
    await this.#hear(answer)
  }

  async #hear(expected: Answer): Promise<void> {
    const [answer] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [Answer]
    if (answer !== expected) throw new Error(`Said ${answer} instead of ${expected}`)
  }
}
