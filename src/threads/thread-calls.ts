import type { EventEmitter } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { messageOf } from '../model/index.ts'
import { stoppable } from '../runtime/index.ts'
import type { ThreadAnswer, ThreadCall } from './answer-calls.ts'
import { Gathering } from './gathering.ts'
import { errorOf } from './thrown-error.ts'

/**
 * The part of a Worker that {@link ThreadCalls} uses. Its events are `message` with an array of {@link ThreadAnswer},
 * `error` with the error that ended the thread, and `exit` with the exit code.
 */
export interface Thread
  extends Pick<EventEmitter, 'on'>, Pick<Worker, 'ref' | 'unref' | 'terminate'> {
  /** Sends calls, which the thread starts in order. */
  postMessage(calls: readonly ThreadCall[]): void
}

/** The objects in a thread. Each of their methods takes at most one argument, and returns a promise. */
export interface ThreadParts {
  readonly thread: {
    /** Called last, before the thread is terminated. */
    readonly close: () => Promise<void>
  }
}

/** The method of an object in a thread, if other threads can call it. */
export type Method<Part, Name extends keyof Part> = Part[Name] extends (
  argument: never,
) => Promise<unknown>
  ? Part[Name]
  : never

/** Handles a thread's notices, and makes the errors of calls. */
export interface ThreadOwner<Notice> {
  readonly onNotice: (notice: Notice) => void
  /** Makes the error for calls after `close()`. */
  readonly closedError: () => Error
  /** Makes the error for all calls once the thread ends unexpectedly. `end` says how: `has ended with exit code 1`. */
  readonly deathError: (end: string, cause: unknown) => Error
  /** Aborts when the thread may never answer again: all calls fail, and nothing waits for its end. */
  readonly abandoned?: AbortSignal
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Calls methods in a thread. Calls start in the order in which they are made. The thread keeps the process alive while
 * any caller waits for an answer.
 */
export class ThreadCalls<Parts extends ThreadParts, Notice> {
  readonly #thread: Thread
  readonly #owner: ThreadOwner<Notice>
  readonly #abandoned: AbortSignal
  readonly #waiting = new Map<number, Waiting>()
  readonly #calls = new Gathering<ThreadCall>({
    send: (calls) => this.#post(calls),
    later: (send) => void nextTurn().then(send),
  })
  #lastCall = 0
  #death: Error | undefined
  #closed: Promise<void> | undefined

  constructor(thread: Thread, owner: ThreadOwner<Notice>) {
    this.#thread = thread
    this.#owner = owner
    thread.on('message', (answers: readonly ThreadAnswer<Notice>[]) => {
      for (const answer of answers) this.#hear(answer)
    })
    thread.on('error', (error: unknown) => this.#end(`has failed: ${messageOf(error)}`, error))
    this.#abandoned = owner.abandoned ?? new AbortController().signal
    const abandon = (): void => this.#end('does not answer')
    if (this.#abandoned.aborted) abandon()
    this.#abandoned.addEventListener('abort', abandon, { once: true })
    thread.on('exit', (code: number) => {
      this.#abandoned.removeEventListener('abort', abandon)
      this.#end(`has ended with exit code ${code}`)
    })
  }

  /** Whether the thread has ended or was abandoned. Every call then fails. */
  get hasEnded(): boolean {
    return this.#death !== undefined
  }

  /**
   * Returns a function that calls a method in the thread. The function holds its argument in memory only until the call
   * is sent, and rejects with the errors of the method, or those of the {@link ThreadOwner}.
   */
  method<Part extends keyof Parts & (string | number), Name extends keyof Parts[Part] & string>(
    part: Part,
    name: Name,
  ): Method<Parts[Part], Name> {
    const call = (argument: unknown): Promise<unknown> =>
      this.#closed === undefined
        ? this.#ask(part, name, argument)
        : Promise.reject(this.#owner.closedError())
    return call as Method<Parts[Part], Name>
  }

  /** Returns functions that each call a method of the same object. See {@link ThreadCalls.method}. */
  methods<Part extends keyof Parts & string, Name extends keyof Parts[Part] & string>(
    part: Part,
    names: readonly Name[],
  ): { readonly [Each in Name]: Method<Parts[Part], Each> } {
    const methods = names.map((name) => [name, this.method(part, name)])
    return Object.fromEntries(methods) as { [Each in Name]: Method<Parts[Part], Each> }
  }

  /** Sends gathered calls now, instead of at the end of this turn of the event loop. */
  sendNow(): void {
    this.#calls.sendNow()
  }

  /** Refuses further calls. Waits for `before`, then calls `close` in the thread and terminates the thread. */
  close(before?: Promise<void>): Promise<void> {
    this.#closed ??= this.#close(before)
    return this.#closed
  }

  async #close(before: Promise<void> | undefined): Promise<void> {
    try {
      await before
      if (this.#death === undefined) await this.#ask('thread', 'close', undefined)
    } catch (error) {
      // A thread that has ended is closed too.
      if (!this.hasEnded) throw error
    } finally {
      await stoppable(this.#thread.terminate(), this.#abandoned)
      if (this.#abandoned.aborted) this.#thread.unref()
    }
  }

  #ask(part: string | number, method: string, argument: unknown): Promise<unknown> {
    if (this.#death !== undefined) return Promise.reject(this.#death)
    const call = ++this.#lastCall
    if (this.#waiting.size === 0) this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(call, { resolve, reject })
      this.#calls.say({ call, part, method, argument })
    })
  }

  #post(calls: readonly ThreadCall[]): void {
    try {
      this.#thread.postMessage(calls)
    } catch (error) {
      // Send the calls one by one, so that only those that cannot be sent fail.
      if (calls.length > 1) for (const each of calls) this.#post([each])
      else for (const { call } of calls) this.#take(call)?.reject(error)
    }
  }

  #hear(answer: ThreadAnswer<Notice>): void {
    if ('notice' in answer) this.#owner.onNotice(answer.notice)
    else if ('error' in answer) this.#take(answer.call)?.reject(errorOf(answer.error))
    else this.#take(answer.call)?.resolve(answer.result)
  }

  #take(call: number): Waiting | undefined {
    const waiting = this.#waiting.get(call)
    this.#waiting.delete(call)
    if (this.#waiting.size === 0) this.#thread.unref()
    return waiting
  }

  #end(end: string, cause?: unknown): void {
    // After `close`, the end is expected, even if a call is still pending.
    this.#death ??=
      this.#closed === undefined ? this.#owner.deathError(end, cause) : this.#owner.closedError()
    for (const { reject } of this.#waiting.values()) reject(this.#death)
    this.#waiting.clear()
  }
}
