import type { MessagePort } from 'node:worker_threads'
import { Gathering } from './gathering.ts'
import { thrownError, type ThrownError } from './thrown-error.ts'

/** A call of a method in a thread. */
export interface ThreadCall {
  /** The number of the call, which its answer repeats. */
  readonly call: number
  /** The object in the thread: its name or number. */
  readonly part: string | number
  readonly method: string
  readonly argument: unknown
}

/** A message from a thread: the result or error of a call, or a notice that no call asked for. */
export type ThreadAnswer<Notice> =
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly error: ThrownError }
  | { readonly notice: Notice }

type Methods = Readonly<Record<string, (argument: unknown) => unknown>>

interface Answering {
  /** The objects that can be called, by name or number. More may be added later. */
  readonly parts: object
  /** Calls `send` when no more answers are likely to come soon, so that they are sent together. */
  readonly later: (send: () => void) => void
}

/**
 * Starts calls from another thread in order, and answers each once its method has ended.
 *
 * @returns a function that sends a notice to the other thread: at once, but after the answers that are already waiting
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
