import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock, Timer } from './clock.ts'

interface Task {
  atMs: number
  readonly run: () => void
}

/** Minimum turns of the event loop after each task. Work that doesn't hold the clock gets no more. */
const turnsPerTaskMin = 12
/** Maximum turns after each task, in case a request hangs and holds the clock. */
const turnsPerTaskMax = 100

/** A clock that moves only when a caller advances it; for tests and for the virtual clock. */
export class ManualClock implements Clock {
  #nowMs: number
  #holds = 0
  /** In the order of scheduling. Tasks that are due at the same time run in this order. */
  readonly #tasks = new Set<Task>()

  /** @param startMs - milliseconds since 1970 */
  constructor(startMs: number) {
    this.#nowMs = startMs
  }

  nowMs(): number {
    return this.#nowMs
  }

  schedule(delayMs: number, run: () => void): Timer {
    // Real clocks return whole milliseconds, and stores keep whole milliseconds.
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

  get isHeld(): boolean {
    return this.#holds > 0
  }

  /** Returns when the next task is due, in milliseconds since 1970; undefined if there is no task. */
  nextDueMs(): number | undefined {
    return this.#next()?.atMs
  }

  /** Advances the time and runs due tasks in order. After each, lets the event loop turn a few times. */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs
    await this.#settle()
    for (let task = this.#next(); task !== undefined && task.atMs <= endMs; task = this.#next()) {
      this.#run(task)
      await this.#settle()
    }
    this.#nowMs = endMs
  }

  /** Sets the clock forward, or back if `byMs` is negative. No time passes, so tasks keep their remaining wait. */
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

  /** Advances the time to the next task and runs it; does nothing if there is no task. */
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
