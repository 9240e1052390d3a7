import { systemClock, type Timer } from '../runtime/index.ts'

/** The deadline of a request, in real time. Making an AbortSignal would take as much CPU as signing the body. */
export class Deadline {
  readonly #timer: Timer
  #isOver = false
  #whenOver: (() => void) | undefined

  /** @param timeMs - from now, in milliseconds */
  constructor(timeMs: number) {
    this.#timer = systemClock.schedule(timeMs, () => {
      this.#isOver = true
      this.#whenOver?.()
    })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Sets the task to run at the deadline, in place of any earlier one; undefined for none. */
  whenOver(task: (() => void) | undefined): void {
    this.#whenOver = task
  }

  cancel(): void {
    this.#timer.cancel()
  }
}
