import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf, StoreUnusableError } from '../../model/index.ts'
import { Gathering } from '../../runtime/index.ts'
import { closedError } from '../store-errors.ts'
import type { UpgradeProgress } from '../sqlite/schema.ts'
import type { ThreadParts } from './answer-calls.ts'
import type { StartThread, StoreThread } from './start-thread.ts'
import {
  openingCall,
  type ThreadAnswer,
  type ThreadRequest,
  type ThreadSettings,
} from './thread-messages.ts'
import { errorOf } from './thrown-error.ts'

/** A caller that waits for an answer. */
interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The file that a thread opens, its access, and the listener of an upgrade. */
interface StoreAccess extends Pick<ThreadSettings, 'path' | 'access'> {
  readonly onUpgrade?: ((progress: UpgradeProgress) => void) | undefined
}

/** The argument of a method. */
export type Argument<Method> = Method extends (argument: infer Given) => unknown ? Given : never
/** The result of a method. */
type Answer<Method> = Method extends (argument: never) => Promise<infer Given> ? Given : never

/**
 * The calls to the thread of a store, and their answers. Calls start in the order in which they were made.
 * The thread keeps the process alive as long as a caller waits for an answer.
 */
export class StoreCalls {
  readonly #path: string
  readonly #onUpgrade: StoreAccess['onUpgrade']
  readonly #thread: StoreThread
  readonly #ended: Promise<void>
  readonly #waiting = new Map<number, Waiting>()
  readonly #requests = new Gathering<ThreadRequest>({
    send: (requests) => this.#post(requests),
    later: (send) => void nextTurn().then(send),
  })
  #lastCall = openingCall
  #failure: StoreUnusableError | undefined
  #closed: Promise<void> | undefined

  private constructor({ path, access, onUpgrade }: StoreAccess, start: StartThread) {
    this.#path = path
    this.#onUpgrade = onUpgrade
    this.#thread = start({ path, access })
    this.#ended = this.#listen()
  }

  /**
   * Starts a thread that opens a file.
   *
   * @throws EvrouteError the errors of the engine
   */
  static async open(file: StoreAccess, start: StartThread): Promise<StoreCalls> {
    const calls = new StoreCalls(file, start)
    try {
      await calls.#answerTo(openingCall)
      return calls
    } catch (error) {
      await calls.#end()
      throw error
    }
  }

  /**
   * Calls a method in the thread. Holds the argument only until it is sent.
   *
   * @throws the errors of the method; EvrouteError `store_closed` after `close()`, `store_unusable` if the
   * thread has ended unexpectedly
   */
  async ask<Part extends keyof ThreadParts, Method extends keyof ThreadParts[Part] & string>(
    part: Part,
    method: Method,
    argument: Argument<ThreadParts[Part][Method]>,
  ): Promise<Answer<ThreadParts[Part][Method]>> {
    if (this.#closed !== undefined) throw closedError()
    return this.#send(part, method, argument) as Promise<Answer<ThreadParts[Part][Method]>>
  }

  /** Whether the thread has ended unexpectedly, so that every call fails. */
  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Sends the calls now instead of at the end of this turn of the event loop. */
  sendNow(): void {
    this.#requests.sendNow()
  }

  /**
   * Refuses further calls, and waits for those in progress and for the end of the thread.
   *
   * @param before - the thread closes the file only after this
   */
  close(before?: Promise<void>): Promise<void> {
    this.#closed ??= this.#close(before)
    return this.#closed
  }

  async #close(before: Promise<void> | undefined): Promise<void> {
    try {
      await before
      if (this.#failure === undefined) await this.#send('store', 'close', undefined)
    } finally {
      await this.#end()
    }
  }

  async #end(): Promise<void> {
    // Keep the process alive until the thread ends, because no caller waits any more.
    this.#thread.ref()
    await this.#ended
  }

  async #send(part: keyof ThreadParts, method: string, argument: unknown): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure
    const call = ++this.#lastCall
    const answer = this.#answerTo(call)
    this.#requests.say({ call, part, method, argument })
    return answer
  }

  #post(requests: readonly ThreadRequest[]): void {
    try {
      this.#thread.postMessage(requests)
    } catch (error) {
      // A call that cannot be sent to another thread must not fail the others.
      const [{ call } = { call: openingCall }, ...others] = requests
      if (others.length === 0) this.#take(call)?.reject(error)
      else for (const request of requests) this.#post([request])
    }
  }

  #answerTo(call: number): Promise<unknown> {
    if (this.#waiting.size === 0) this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject })
    })
  }

  #listen(): Promise<void> {
    const thread = this.#thread
    thread.on('message', (answers: readonly ThreadAnswer[]) => {
      for (const answer of answers) this.#hear(answer)
    })
    thread.on('error', (error: unknown) => {
      this.#fail(`its thread has failed: ${messageOf(error)}`, error)
    })
    return new Promise((resolve) => {
      thread.on('exit', (code: number) => {
        this.#fail(`its thread has ended with exit code ${code}`)
        resolve()
      })
    })
  }

  #hear(answer: ThreadAnswer): void {
    switch (answer.kind) {
      case 'done':
        this.#take(answer.call)?.resolve(answer.result)
        break
      case 'failed':
        this.#take(answer.call)?.reject(errorOf(answer.error))
        break
      case 'upgrading':
        this.#onUpgrade?.(answer.progress)
        break
    }
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#waiting.get(call)
    this.#waiting.delete(call)
    if (this.#waiting.size === 0) this.#thread.unref()
    return waiting
  }

  #fail(why: string, cause?: unknown): void {
    this.#failure ??= new StoreUnusableError({
      message: `Cannot use the store ${this.#path}: ${why}`,
      hint: 'Restart this process. Data that was not confirmed may be missing from the store.',
      cause,
    })
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}
