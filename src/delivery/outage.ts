import { messageOf } from '../model/index.ts'
import type { Clock, Log, Timer } from '../runtime/index.ts'

/** How long a store that cannot be used for now is left alone. */
const retryMs = 1_000

/** Options of an outage. */
export interface OutageOptions {
  /** The blocked kind of call: `read` or `written`. */
  readonly what: 'read' | 'written'
  /** Tells when it is asked again. */
  readonly clock: Clock
  /** Called once when it begins, and once when it is over. */
  readonly log: Log
}

/** The time in which a store cannot be used, and is asked again and again. */
export class Outage {
  readonly #options: OutageOptions
  #isOn = false
  #timer: Timer | undefined
  #goOn: (() => void) | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** The store cannot be used: resolves when it is to be asked again, or once {@link cut}. */
  async wait(error: unknown): Promise<void> {
    const { what, clock, log } = this.#options
    if (!this.#isOn) log.warn(`the store cannot be ${what} for now`, { error: messageOf(error) })
    this.#isOn = true
    await new Promise<void>((resolve) => {
      this.#goOn = resolve
      this.#timer = clock.schedule(retryMs, resolve)
    })
  }

  /** The store can be used. */
  end(): void {
    const { what, log } = this.#options
    if (this.#isOn) log.warn(`the store can be ${what} again`)
    this.#isOn = false
  }

  /** Asks again at once. */
  cut(): void {
    this.#timer?.cancel()
    this.#goOn?.()
  }
}
