/** Lets a few tasks run at once; the others wait in the order in which they came. */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #free: number

  /** @param tasksMax - tasks that run at once */
  constructor(tasksMax: number) {
    this.#free = tasksMax
  }

  /** Runs a task when it is its turn. */
  async take<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
