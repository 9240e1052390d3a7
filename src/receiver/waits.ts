import { once } from 'node:events'
import { sleep, type Clock } from '../runtime/index.ts'

/** Waits that can be ended early, one at a time or all at once. */
export class Waits {
  readonly #clock: Clock
  readonly #begun = new Set<AbortController>()
  readonly #awaited = new Set<() => void>()
  readonly #over = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Begins a wait. Abort the returned controller to end it. */
  begin(): AbortController {
    const wait = new AbortController()
    if (this.over.aborted) wait.abort()
    else this.#begun.add(wait)
    return wait
  }

  /** Resolves when a wait is ended, or after `timeoutMs`. Undefined means no limit. */
  async endOf(wait: AbortController, timeoutMs?: number): Promise<void> {
    const { signal } = wait
    if (timeoutMs !== undefined) await sleep(this.#clock, timeoutMs, signal)
    else if (!signal.aborted) await once(signal, 'abort')
    this.#begun.delete(wait)
  }

  /** Resolves when the work is done, or at {@link endAll}. The work must not reject. Cheaper than {@link begin}. */
  async until(work: Promise<unknown>): Promise<void> {
    if (this.over.aborted) return
    await new Promise<void>((resolve) => {
      this.#awaited.add(resolve)
      void work.then(() => {
        this.#awaited.delete(resolve)
        resolve()
      })
    })
  }

  endAll(): void {
    this.#over.abort()
    for (const wait of this.#begun) wait.abort()
    for (const end of this.#awaited) end()
  }
}
