import { stopwatch } from '../../src/runtime/index.ts'

/** Notices when there is no progress any more. */
export class Watchdog {
  /** Rejects once there was none for too long. */
  readonly stalled: Promise<never>
  readonly #timer: NodeJS.Timeout
  #elapsedMs = stopwatch()

  /**
   * @param stallMs - how long it may stand still
   * @param describe - tells where things stand
   */
  constructor(stallMs: number, describe: () => string) {
    const { promise, reject } = deferred()
    this.stalled = promise
    // Whoever waits for something else as well need not look at it.
    promise.catch(() => undefined)
    this.#timer = setInterval(() => {
      if (this.#elapsedMs() < stallMs) return
      reject(new Error(`No progress for ${stallMs / 1_000} s: ${describe()}`))
    }, stallMs / 10)
  }

  /** There was some progress. */
  progressed(): void {
    this.#elapsedMs = stopwatch()
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer)
  }
}

function deferred(): { promise: Promise<never>; reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<never>((_, rejectPromise) => (reject = rejectPromise))
  return { promise, reject }
}
