import { messageOf } from '../model/index.ts'
import { sleep, type Clock, type Log } from '../runtime/index.ts'

/** How long to wait before trying an unusable store again. */
const retryMs = 1_000

interface OutageOptions {
  /** Completes the log line "the store cannot be …". */
  readonly what: 'read' | 'written'
  readonly clock: Clock
  readonly log: Log
}

/** Paces retries while the store is unusable, and logs the start and the end of the outage. */
export class Outage {
  readonly #options: OutageOptions
  #isOn = false
  readonly #cut = new AbortController()

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Begins or continues an outage. Resolves when the caller should try the store again; at once after {@link cut}. */
  async wait(error: unknown): Promise<void> {
    const { what, clock, log } = this.#options
    if (!this.#isOn)
      log.warn(`the store cannot be ${what} at the moment`, { error: messageOf(error) })
    this.#isOn = true
    await sleep(clock, retryMs, this.#cut.signal)
  }

  /** Ends the outage, if there is one, and logs that the store can be used again. */
  end(): void {
    const { what, log } = this.#options
    if (this.#isOn) log.warn(`the store can be ${what} again`)
    this.#isOn = false
  }

  /** Ends all waits, so that the store is tried again at once. */
  cut(): void {
    this.#cut.abort()
  }
}
