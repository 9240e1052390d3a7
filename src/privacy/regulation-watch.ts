import { messageOf } from '../model/index.ts'
import type { Runtime, Timer } from '../runtime/index.ts'
import type { KeptArchive, SharedRegulations, UnfinishedRegulation } from './store-port.ts'

interface RegulationWatchOptions {
  readonly shared: SharedRegulations
  /** Returns the archives in this process's configuration. */
  readonly archives: () => Promise<readonly KeptArchive[]>
  /** Called with all unfinished regulations, after each query. */
  readonly found: (regulations: readonly UnfinishedRegulation[]) => void
  readonly runtime: Pick<Runtime, 'clock' | 'log'>
}

/** How often to ask the shared store for unfinished regulations. */
export const watchEveryMs = 5_000

/** Watches a shared store for regulations from other processes, and registers this process's archives in it. */
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

  /** Registers the configured archives. Call it before anything is written to them. */
  async register(): Promise<readonly KeptArchive[]> {
    const archives = await this.#options.archives()
    const registered = JSON.stringify(archives)
    if (registered === this.#registered) return archives
    await this.#options.shared.register({ archives })
    this.#registered = registered
    return archives
  }

  /** Registers new archives, then looks once for unfinished regulations. */
  async look(): Promise<void> {
    const archives = await this.register()
    const archiveIds = archives.map(({ id }) => id)
    const found = await this.#options.shared.unfinished({ archiveIds })
    if (!this.#isClosed) this.#options.found(found)
  }

  /** Looks at once and then periodically, even if the store fails to answer. Call it once. */
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
      if (!this.#isSilent && !this.#isClosed) {
        log.warn('cannot look for unfinished regulations', { error: messageOf(error) })
      }
      this.#isSilent = true
    } finally {
      release()
    }
    if (this.#isClosed) return
    this.#next = clock.schedule(watchEveryMs, () => this.start())
  }
}
