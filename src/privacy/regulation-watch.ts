import { messageOf } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import type { KeptArchive, SharedRegulations, UnfinishedRegulation } from './store-port.ts'

/** The parts that a watch needs. */
export interface RegulationWatchOptions {
  /** The store's port for processes that share it. */
  readonly shared: SharedRegulations
  /** The archives that this process has configured. */
  readonly archives: () => Promise<readonly KeptArchive[]>
  /** Called with all unfinished regulations after each look. */
  readonly found: (regulations: readonly UnfinishedRegulation[]) => void
  /** Clock and log. */
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** How often to ask the store for regulations that other processes stored or left unfinished. */
export const watchEveryMs = 5_000

/** Finds the regulations that other processes have stored, and registers the archives of this process. */
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
   * Registers the configured archives, before anything is written to them.
   *
   * @throws EvrouteError of the store, or of an archive that cannot be used
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
   * Looks once for unfinished regulations.
   *
   * @throws EvrouteError of the store
   */
  async look(): Promise<void> {
    const archives = await this.register()
    const archiveIds = archives.map(({ id }) => id)
    const found = await this.#options.shared.unfinished({ archiveIds })
    if (!this.#isClosed) this.#options.found(found)
  }

  /** Looks at once, and then periodically. Retries while the store does not answer. Call it once. */
  start(): void {
    this.#looking = this.#lookAgain()
  }

  /** Stops looking; resolves once the current look has ended. Idempotent. */
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
      // Log it once, not every few seconds.
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
