import { stopwatch } from '../../src/runtime/index.ts'

/** Detects that there is no more progress. */
export class Watchdog {
  /** Rejects after too long without progress. */
  readonly stalled: Promise<never>
  readonly #timer: NodeJS.Timeout
  #elapsedMs = stopwatch()

  /**
   * @param stallMs - how long there may be no progress
   * @param describe - describes the state, for the error
   */
  constructor(stallMs: number, describe: () => string) {
    const { promise, reject } = deferred()
    this.stalled = promise
    // It may reject while nothing awaits it.
    promise.catch(() => undefined)
    this.#timer = setInterval(() => {
      if (this.#elapsedMs() < stallMs) return
      reject(new Error(`No progress for ${stallMs / 1_000} s: ${describe()}`))
    }, stallMs / 10)
  }

  progressed(): void {
    this.#elapsedMs = stopwatch()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}

function deferred(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<never>((_, rejectPromise) => (reject = rejectPromise))
  return { promise, reject }
}
