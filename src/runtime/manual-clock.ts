import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock, Timer } from './clock.ts'

interface Task {
  atMs: number
  readonly run: () => void
}

/** Turns of the event loop after each task: enough for what does not hold the clock. */
const turnsPerTaskMin = 12
/** While something holds the clock there are more, though not for ever: a request may hang. */
const turnsPerTaskMax = 100

/** A clock that stands still until it is told to move; for tests and for the virtual clock. */
export class ManualClock implements Clock {
  #nowMs: number
  #holds = 0
  /** In the order of scheduling, which decides between tasks of the same time. */
  readonly #tasks = new Set<Task>()

  /** @param startMs - milliseconds since 1970 */
  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  schedule(delayMs: number, run: () => void): Timer {
    // A clock that people use tells whole milliseconds, and so what is stored of its time.
    const task: Task = { atMs: this.#nowMs + Math.ceil(Math.max(delayMs, 0)), run }
    this.#tasks.add(task)
    return { cancel: () => this.#tasks.delete(task) }
  }

  hold(): () => void {
    this.#holds++
    let held = true
    return () => {
      if (held) this.#holds--
      held = false
    }
  }

  /** When the next task is due, in milliseconds since 1970; undefined when none waits. */
  nextDueMs(): number | undefined {
    return this.#next()?.atMs
  }

  /**
   * Moves the time on and runs what falls due, in order. After each task the event loop turns a few
   * times, and more often while something holds the clock, so that what the task started can schedule
   * more.
   */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs
    await this.#settle()
    for (let task = this.#next(); task !== undefined && task.atMs <= endMs; task = this.#next()) {
      this.#run(task)
      await this.#settle()
    }
    this.#nowMs = endMs
  }

  /**
   * Sets the time forth, or back when `byMs` is negative, as somebody who sets a clock does: no time
   * goes by, and tasks wait for as long as they still had to.
   */
  jump(byMs: number): void {
    this.#nowMs += byMs
    for (const task of this.#tasks) task.atMs += byMs
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < turnsPerTaskMax; turn++) {
      if (turn >= turnsPerTaskMin && this.#holds === 0) return
      await nextTurn()
    }
  }

  /** Moves to the next task and runs it; does nothing when none waits. */
  runNext(): void {
    const task = this.#next()
    if (task !== undefined) this.#run(task)
  }

  #run(task: Task): void {
    this.#tasks.delete(task)
    this.#nowMs = Math.max(this.#nowMs, task.atMs)
    task.run()
  }

  #next(): Task | undefined {
    let next: Task | undefined
    for (const task of this.#tasks) {
      if (next === undefined || task.atMs < next.atMs) next = task
    }
    return next
  }
}
