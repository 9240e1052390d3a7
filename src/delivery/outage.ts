import { messageOf } from '../model/index.ts'
import type { Clock, Log, Timer } from '../runtime/index.ts'

/** The wait before an unusable store is tried again. */
const retryMs = 1_000

/** Options of an outage. */
export interface OutageOptions {
  /** The blocked kind of call: `read` or `written`. */
  readonly what: 'read' | 'written'
  /** Times the retries. */
  readonly clock: Clock
  /** Logs the start and the end of the outage. */
  readonly log: Log
}

/** A time in which the store is unusable and retried at intervals. */
export class Outage {
  readonly #options: OutageOptions
  #isOn = false
  #timer: Timer | undefined
  #goOn: (() => void) | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Notes that the store is unusable. Resolves when it is to be tried again, or at {@link cut}. */
  async wait(error: unknown): Promise<void> {
    const { what, clock, log } = this.#options
    if (!this.#isOn) log.warn(`the store cannot be ${what} for now`, { error: messageOf(error) })
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
