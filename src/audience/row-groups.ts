import { setImmediate as nextTurn } from 'node:timers/promises'

/** Reads an iteration until it ends or the signal aborts. An abort also ends a wait for the next group. */
export class RowGroups<Group> {
  readonly #groups: AsyncIterator<Group>
  readonly #signal: AbortSignal
  #isWaiting = false

  constructor(groups: AsyncIterable<Group>, signal: AbortSignal) {
    this.#groups = groups[Symbol.asyncIterator]()
    this.#signal = signal
  }

  /** Yields to the event loop, then returns the next group; undefined at the end or after an abort. */
  async next(): Promise<Group | undefined> {
    await nextTurn()
    if (this.#signal.aborted) return undefined
    this.#isWaiting = true
    const result = await untilAborted(
      this.#groups.next().finally(() => {
        this.#isWaiting = false
      }),
      this.#signal,
    )
    return result === undefined || result.done === true ? undefined : result.value
  }

  /**
   * Ends the iteration early; harmless at its end. If the iteration is still waiting for its next group,
   * returns at once, and the iteration ends after that wait.
   */
  async close(): Promise<void> {
    const closed = this.#groups.return?.()
    if (this.#isWaiting) closed?.catch(() => undefined)
    else await closed
  }
}

/** Resolves with the result of the work, or with undefined as soon as the signal aborts. */
function untilAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(undefined)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
