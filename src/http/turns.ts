import type { Clock } from '../runtime/index.ts'

/** How many may have a turn at once. */
export interface TurnsOptions {
  /** Turns at once. */
  readonly turnsMax: number
  /** Age at which the oldest turn is aborted if another caller waits; never by default. */
  readonly safeMs?: number
  /** Tells how old a turn is. */
  readonly clock: Clock
}

/** Bounds how much is under way. Slow work cannot hold up the rest: the oldest turn gives way. */
export class Turns {
  readonly #options: TurnsOptions
  /** When each turn began, the oldest first. */
  readonly #taken = new Map<AbortController, number>()
  readonly #waiting = new Map<AbortController, () => void>()
  #isPlanned = false

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /**
   * Resolves once it is this caller's turn, which lasts until {@link end}.
   *
   * @param controller - is aborted when the turn has to give way
   * @throws the reason of the abort when the controller is aborted before its turn
   */
  async take(controller: AbortController): Promise<void> {
    const { signal } = controller
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      this.#waiting.set(controller, resolve)
      this.#startNext()
    })
    signal.throwIfAborted()
  }

  /** The turn is over, or not wanted any more. */
  end(controller: AbortController): void {
    this.#waiting.delete(controller)
    this.#taken.delete(controller)
    this.#startNext()
  }

  #startNext(): void {
    const { turnsMax, clock } = this.#options
    for (const [controller, start] of this.#waiting) {
      if (this.#taken.size >= turnsMax && !this.#makeRoom()) return
      this.#waiting.delete(controller)
      this.#taken.set(controller, clock.nowMs())
      start()
    }
  }

  #makeRoom(): boolean {
    const { safeMs, clock } = this.#options
    const [oldest] = this.#taken
    if (oldest === undefined || safeMs === undefined) return false
    const [controller, sinceMs] = oldest
    const leftMs = sinceMs + safeMs - clock.nowMs()
    if (leftMs > 0) {
      this.#plan(leftMs)
      return false
    }
    this.#taken.delete(controller)
    controller.abort()
    return true
  }

  #plan(delayMs: number): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#options.clock.schedule(delayMs, () => {
      this.#isPlanned = false
      this.#startNext()
    })
  }
}
