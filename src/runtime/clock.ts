/** A scheduled task. */
export interface Timer {
  /** Cancels the task; does nothing if it has already run. */
  cancel(): void
}

/** Tells the time and schedules tasks. */
export interface Clock {
  /** Whole milliseconds since 1970. */
  nowMs(): number
  /** Runs a task once, after `delayMs`. Keeps the process alive. The system's clock cuts longer delays to 24 days. */
  schedule(delayMs: number, task: () => void): Timer
  /** Announces work: a virtual clock doesn't jump until the returned function is called. */
  hold(): () => void
}

const timerDelayMsMax = 2 ** 31 - 1

/** The system's clock. */
export const systemClock: Clock = Object.freeze({
  nowMs: () => Date.now(),
  schedule: (delayMs: number, task: () => void): Timer => {
    const timeout = setTimeout(task, Math.min(Math.max(delayMs, 0), timerDelayMsMax))
    return { cancel: () => clearTimeout(timeout) }
  },
  hold: () => () => undefined,
})

/** Resolves with true `delayMs` from now, or with false as soon as the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve(false)
      return
    }
    const onAbort = (): void => {
      timer.cancel()
      resolve(false)
    }
    const timer = clock.schedule(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve(true)
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
