import type { Clock } from '../runtime/index.ts'

interface TurnsOptions {
  readonly turnsMax: number
  /** The age at which the oldest turn is aborted if another caller is waiting; never by default. */
  readonly safeMs?: number
  readonly clock: Clock
}

/** Limits how many tasks run at once. With `safeMs`, a slow task is aborted if others wait. */
export class Turns {
  readonly #options: TurnsOptions
  /** When each turn began, the oldest first. */
  readonly #taken = new Map<AbortController, number>()
  readonly #waiting = new Map<AbortController, () => void>()
  #isPlanned = false

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  /** Resolves when the turn begins. Throws if the controller is aborted first. The turn lasts until {@link end}. */
  async take(controller: AbortController): Promise<void> {
    const { signal } = controller
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
      this.#waiting.set(controller, resolve)
      this.#startNext()
    })
    signal.throwIfAborted()
  }

  /** Ends a turn, or a wait for one. */
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
    const remainingMs = sinceMs + safeMs - clock.nowMs()
    if (remainingMs > 0) {
      this.#plan(remainingMs)
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
