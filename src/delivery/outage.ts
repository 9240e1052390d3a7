import { messageOf } from '../model/index.ts'
import type { Clock, Log, Timer } from '../runtime/index.ts'

/** How long to wait before trying an unusable store again. */
const retryMs = 1_000

/** Options of {@link Outage}. */
export interface OutageOptions {
  /** Completes the log line "the store cannot be …". */
  readonly what: 'read' | 'written'
  readonly clock: Clock
  readonly log: Log
}

/** Paces retries while the store is unusable, and logs the start and the end of the outage. */
export class Outage {
  readonly #options: OutageOptions
  #isOn = false
  #timer: Timer | undefined
  #goOn: (() => void) | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Notes that the store is unusable. Resolves when to try it again, or on {@link cut}. */
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

  /** Cuts the wait short, so that the store is tried again at once. */
  cut(): void {
    this.#timer?.cancel()
    this.#goOn?.()
  }
}
