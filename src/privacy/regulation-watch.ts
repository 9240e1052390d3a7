import { messageOf } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import type { KeptArchive, SharedRegulations, UnfinishedRegulation } from './store-port.ts'

/** What a watch is made of. */
export interface RegulationWatchOptions {
  /** Where processes know of each other. */
  readonly shared: SharedRegulations
  /** The archives that this process has now. */
  readonly archives: () => Promise<readonly KeptArchive[]>
  /** Is told of all that is not finished, every time. */
  readonly found: (regulations: readonly UnfinishedRegulation[]) => void
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** How often is looked for what other processes have stored, or left when they died. */
export const watchEveryMs = 5_000

/** Finds the regulations that other processes have stored, and registers the archives of this one. */
export class RegulationWatch {
  readonly #options: RegulationWatchOptions
  #registered = ''
  #looking: Promise<void> = Promise.resolve()
  #next: Timer | undefined
  #isSilent = false
  #isClosed = false

  constructor(options: RegulationWatchOptions) {
    this.#options = options
  }

  /**
   * Registers the archives of today; before something is written to them.
   *
   * @throws whatever makes the store refuse it, or an archive that cannot be used
   */
  async register(): Promise<readonly KeptArchive[]> {
    const archives = await this.#options.archives()
    const registered = JSON.stringify(archives)
    if (registered === this.#registered) return archives
    await this.#options.shared.register({ archives })
    this.#registered = registered
    return archives
  }

  /**
   * Looks at once.
   *
   * @throws whatever makes the store refuse it
   */
  async look(): Promise<void> {
    const archives = await this.register()
    const archiveIds = archives.map(({ id }) => id)
    const found = await this.#options.shared.unfinished({ archiveIds })
    if (!this.#isClosed) this.#options.found(found)
  }

  /** Looks now and from now on; once. A store that does not answer is asked again. */
  start(): void {
    this.#looking = this.#lookAgain()
  }

  /** Resolves once nothing is looked for any more. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#next?.cancel()
    await this.#looking
  }

  async #lookAgain(): Promise<void> {
    const { clock, log } = this.#options.runtime
    const release = clock.hold()
    try {
      await this.look()
      this.#isSilent = false
    } catch (error) {
      // Said once, not every few seconds.
      if (!this.#isSilent && !this.#isClosed) {
        log.warn('regulations cannot be looked for', { error: messageOf(error) })
      }
      this.#isSilent = true
    } finally {
      release()
    }
    if (this.#isClosed) return
    this.#next = clock.schedule(watchEveryMs, () => this.start())
  }
}
