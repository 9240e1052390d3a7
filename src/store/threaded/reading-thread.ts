import { closedError } from '../sqlite/store-error.ts'
import type { StartThread } from './start-thread.ts'
import { StoreCalls, type Answer, type Argument } from './store-calls.ts'
import type { Questions } from './thread-messages.ts'

/**
 * A thread that reads a store's file while another thread delivers from it. It starts with the first
 * question and ends with the store.
 */
export class ReadingThread {
  readonly #path: string
  readonly #start: StartThread
  #calls: Promise<StoreCalls> | undefined
  #isClosed = false

  constructor(path: string, start: StartThread) {
    this.#path = path
    this.#start = start
  }

  /**
   * Asks about the committed rows.
   *
   * @throws the errors of the log; EvrouteError `store_closed` after `close()`
   */
  async ask<Method extends keyof Questions>(
    method: Method,
    argument: Argument<Questions[Method]>,
  ): Promise<Answer<Questions[Method]>> {
    if (this.#isClosed) throw closedError()
    const calls = await this.#open()
    return calls.ask('questions', method, argument)
  }

  /** Ends the question in progress, and the thread. */
  async close(): Promise<void> {
    this.#isClosed = true
    const calls = await this.#calls?.catch(() => undefined)
    await calls?.close()
  }

  async #open(): Promise<StoreCalls> {
    this.#calls ??= StoreCalls.open({ path: this.#path, access: 'read' }, this.#start)
    try {
      return await this.#calls
    } catch (error) {
      // The next question tries again.
      this.#calls = undefined
      throw error
    }
  }
}
