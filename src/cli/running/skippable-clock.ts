import { systemClock, VirtualClock, type Clock, type Timer } from '../../runtime/index.ts'

/** A scheduled task. */
interface Waiting {
  readonly dueMs: number
  readonly task: () => void
  timer: Timer
}

/** The system clock until {@link skip}. After that, waiting takes no time. */
export class SkippableClock implements Clock {
  #clock: Clock = systemClock
  readonly #waiting = new Set<Waiting>()
  readonly #holds = new Set<{ release: () => void }>()

  nowMs(): number {
    return this.#clock.nowMs()
  }

  schedule(delayMs: number, task: () => void): Timer {
    const run = (): void => {
      this.#waiting.delete(waiting)
      task()
    }
    const timer = this.#clock.schedule(delayMs, run)
    const waiting = { dueMs: this.nowMs() + delayMs, task: run, timer }
    this.#waiting.add(waiting)
    return {
      cancel: () => {
        this.#waiting.delete(waiting)
        waiting.timer.cancel()
      },
    }
  }

  hold(): () => void {
    const held = { release: this.#clock.hold() }
    this.#holds.add(held)
    return () => {
      if (this.#holds.delete(held)) held.release()
    }
  }

  /** From now on, jumps to the next task whenever nothing holds the clock. */
  skip(): void {
    const nowMs = this.nowMs()
    const virtual = new VirtualClock(nowMs)
    this.#clock = virtual
    for (const held of this.#holds) held.release = virtual.hold()
    for (const waiting of this.#waiting) {
      waiting.timer.cancel()
      waiting.timer = virtual.schedule(waiting.dueMs - nowMs, waiting.task)
    }
  }
}
