import type { MessagePort } from 'node:worker_threads'
import type { LeaseEnd } from '../../delivery/index.ts'
import { Gathering } from '../../runtime/index.ts'
import type { EndRequest } from '../log/first-tries.ts'
import { SqliteLog } from '../sqlite/sqlite-log.ts'
import { SqliteStore } from '../sqlite/sqlite-store.ts'
import {
  openingCall,
  type ThreadAnswer,
  type ThreadRequest,
  type ThreadSettings,
} from './thread-messages.ts'
import { thrownError } from './thrown-error.ts'

type Method = (argument: unknown) => Promise<unknown>

type Tell = (answer: ThreadAnswer) => void

/**
 * Opens a store, and runs the calls of another thread until one of them closes the store. Then, or if the
 * store cannot be opened, it closes the port, so that this thread ends.
 *
 * @param port - receives the calls
 */
export async function answerCalls(port: MessagePort, settings: ThreadSettings): Promise<void> {
  const answers = new Gathering<ThreadAnswer>({
    send: (some) => port.postMessage(some),
    // This runs after all promises that a commit settles, and before the next commit.
    later: (send) => process.nextTick(send),
  })
  const answer = async (call: number, result: () => Promise<unknown>): Promise<void> => {
    try {
      answers.say({ kind: 'done', call, result: await result() })
    } catch (error) {
      answers.say({ kind: 'failed', call, error: thrownError(error) })
    }
  }
  const tellAtOnce: Tell = (some) => {
    answers.say(some)
    answers.sendNow()
  }
  const end = (): void => {
    answers.sendNow()
    port.close()
  }
  let parts: Readonly<Record<string, object>> | undefined
  await answer(openingCall, async () => {
    parts = await open(settings, tellAtOnce)
  })
  const opened = parts
  if (opened === undefined) {
    end()
    return
  }
  const take = ({ call, part, method, argument }: ThreadRequest): void => {
    const methods = opened[part] as Readonly<Record<string, Method>>
    const answered = answer(call, async () => methods[method]?.(argument))
    if (method === 'close') void answered.finally(end)
  }
  port.on('message', (requests: readonly ThreadRequest[]) => requests.forEach(take))
}

async function open({ path, access }: ThreadSettings, tell: Tell) {
  return access === 'deliver'
    ? openToDeliver(path, tell)
    : { store: await SqliteLog.open(path, { write: false }) }
}

/** The objects whose methods other threads can call. A thread that reads only has the log of the store. */
export type ThreadParts = Awaited<ReturnType<typeof openToDeliver>>

async function openToDeliver(path: string, tell: Tell) {
  const store = await SqliteStore.open(path, undefined, {
    onProgress: (progress) => tell({ kind: 'upgrading', progress }),
  })
  const { audiences, regulations } = store
  /** Settles, and returns the indexes of the settlements that took effect. */
  const settle = async (message: string): Promise<readonly number[]> => {
    const batch = JSON.parse(message) as EndRequest<LeaseEnd>
    const effective = new Set(await store.settle(batch))
    return batch.settlements.flatMap((each, place) => (effective.has(each) ? [place] : []))
  }
  return { store, audiences, regulations, messages: { settle } }
}
