/** A request that has arrived and is not in the log yet. */
interface Arrival {
  readonly atMs: number
  /** Resolves when the request is in the log, or never will be. */
  readonly logged: Promise<void>
}

/** The requests that are not in the log yet, because they are being read, delayed or forwarded. */
export class Arrivals {
  readonly #underWay = new Set<Arrival>()

  /** The number of requests that are not in the log yet. */
  get underWay(): number {
    return this.#underWay.size
  }

  /**
   * Adds a request.
   *
   * @param atMs - when the request's head arrived, in milliseconds since 1970
   * @returns a function to call when the request is in the log, or never will be
   */
  begin(atMs: number): () => void {
    const { promise: logged, resolve } = newPromise()
    const arrival = { atMs, logged }
    this.#underWay.add(arrival)
    return () => {
      this.#underWay.delete(arrival)
      resolve()
    }
  }

  /** Resolves when all requests that arrived up to a moment, in milliseconds since 1970, are in the log. */
  async loggedUntil(untilMs: number): Promise<void> {
    const inTime = [...this.#underWay].filter(({ atMs }) => atMs <= untilMs)
    await Promise.all(inTime.map(({ logged }) => logged))
  }
}

function newPromise(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined
  const promise = new Promise<void>((settle) => (resolve = settle))
  return { promise, resolve }
}
