/** A request that arrived and is not in the log yet. */
interface Arrival {
  readonly atMs: number
  readonly told: Promise<void>
}

/** The requests that are not in the log yet: they are read, delayed or forwarded. */
export class Arrivals {
  readonly #underWay = new Set<Arrival>()

  /** How many there are. */
  get underWay(): number {
    return this.#underWay.size
  }

  /**
   * Adds one.
   *
   * @param atMs - when its head arrived, in milliseconds since 1970
   * @returns a function that says that it is told, or never will be
   */
  begin(atMs: number): () => void {
    const { promise: told, resolve } = newPromise()
    const arrival = { atMs, told }
    this.#underWay.add(arrival)
    return () => {
      this.#underWay.delete(arrival)
      resolve()
    }
  }

  /** Resolves when all that arrived until a moment, in milliseconds since 1970, are told. */
  async toldUntil(untilMs: number): Promise<void> {
    const inTime = [...this.#underWay].filter(({ atMs }) => atMs <= untilMs)
    await Promise.all(inTime.map(({ told }) => told))
  }
}

function newPromise(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve }
}
