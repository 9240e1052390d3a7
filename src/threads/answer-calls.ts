import type { MessagePort } from 'node:worker_threads'
import { Gathering } from './gathering.ts'
import { thrownError, type ThrownError } from './thrown-error.ts'

/** A call of a method in a thread. */
export interface ThreadCall {
  /** Identifies the call. */
  readonly call: number
  /** The name of an object in the thread. */
  readonly part: string | number
  readonly method: string
  readonly argument: unknown
}

/** A message from a thread: the result of a call, or the error that it threw, or a notice. */
export type ThreadAnswer<Notice> =
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly error: ThrownError }
  | { readonly notice: Notice }

type Methods = Readonly<Record<string, (argument: unknown) => unknown>>

/** The objects whose methods another thread calls, and how it is answered. */
export interface Answering {
  /** The objects by name. A call finds those that are there when it starts. */
  readonly parts: object
  /** Calls back once the answers of a moment are complete, so that they go together. */
  readonly later: (send: () => void) => void
}

/**
 * Starts the calls of another thread in their order, and answers each when its method has ended.
 *
 * @param port - receives the calls
 * @returns a function that sends a notice at once, after earlier answers
 */
export function answerCalls(
  port: MessagePort,
  { parts, later }: Answering,
): (notice: unknown) => void {
  const answers = new Gathering<ThreadAnswer<unknown>>({
    send: (some) => port.postMessage(some),
    later,
  })
  const objects = parts as Readonly<Record<string | number, Methods>>
  const answer = async ({ call, part, method, argument }: ThreadCall): Promise<void> => {
    try {
      const object = objects[part]
      if (object?.[method] === undefined) throw new Error(`This thread has no ${part}.${method}`)
      answers.say({ call, result: await object[method](argument) })
    } catch (error) {
      answers.say({ call, error: thrownError(error) })
    }
  }
  port.on('message', (calls: readonly ThreadCall[]) => {
    for (const call of calls) void answer(call)
  })
  return (notice) => {
    answers.say({ notice })
    answers.sendNow()
  }
}
