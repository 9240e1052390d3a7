import { once } from 'node:events'
import { sleep, type Clock } from '../runtime/index.ts'

/** Waits on the clock. Each can be ended early, and all of them together, once and finally. */
export class Waits {
  readonly #clock: Clock
  readonly #begun = new Set<AbortController>()
  readonly #awaited = new Set<() => void>()
  #over = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Begins a wait; aborting it ends it. */
  begin(): AbortController {
    const wait = new AbortController()
    if (this.#over) wait.abort()
    else this.#begun.add(wait)
    return wait
  }

  /** Resolves when a wait was ended, or after `timeoutMs`; without it there is no limit. */
  async endOf(wait: AbortController, timeoutMs?: number): Promise<void> {
    const { signal } = wait
    if (timeoutMs !== undefined) await sleep(this.#clock, timeoutMs, signal)
    else if (!signal.aborted) await once(signal, 'abort')
    this.#begun.delete(wait)
  }

  /**
   * Resolves with some work, which does not fail, or at the end of all waits. It costs less than a wait,
   * because nothing else can end it.
   */
  async until(work: Promise<unknown>): Promise<void> {
    if (this.#over) return
    await new Promise<void>((resolve) => {
      this.#awaited.add(resolve)
      void work.then(() => {
        this.#awaited.delete(resolve)
        resolve()
      })
    })
  }

  /** Ends every wait, those that begin later too. */
  endAll(): void {
    this.#over = true
    for (const wait of this.#begun) wait.abort()
    for (const end of this.#awaited) end()
  }
}
