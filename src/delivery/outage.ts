import { messageOf } from '../model/index.ts'
import type { Clock, Log, Timer } from '../runtime/index.ts'

/** How long to wait before trying an unusable store again. */
const retryMs = 1_000

/** Options of {@link Outage}. */
export interface OutageOptions {
  /** Which calls the outage blocks. The word completes the log line "the store cannot be …". */
  readonly what: 'read' | 'written'
  /** Times the retries. */
  readonly clock: Clock
  /** Logs the start and the end of the outage. */
  readonly log: Log
}

/** Paces the retries while the store is unusable, and logs when that begins and ends. */
export class Outage {
  readonly #options: OutageOptions
  #isOn = false
  #timer: Timer | undefined
  #goOn: (() => void) | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Notes that the store is unusable. Resolves when it should be tried again, or on {@link cut}. */
  async wait(error: unknown): Promise<void> {
    const { what, clock, log } = this.#options
    if (!this.#isOn)
      log.warn(`the store cannot be ${what} at the moment`, { error: messageOf(error) })
    this.#isOn = true
    await new Promise<void>((resolve) => {
      this.#goOn = resolve
      this.#timer = clock.schedule(retryMs, resolve)
    })
  }

  /** Ends the outage, if there is one, and logs that the store can be used again. */
  end(): void {
    const { what, log } = this.#options
    if (this.#isOn) log.warn(`the store can be ${what} again`)
    this.#isOn = false
  }

  /** Ends the wait, so that the store is tried again at once. */
  cut(): void {
    this.#timer?.cancel()
    this.#goOn?.()
  }
}
