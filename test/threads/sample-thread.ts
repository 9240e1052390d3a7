// The program of a thread. Its methods are for the tests of calls between threads.
import { parentPort } from 'node:worker_threads'
import { EvrouteError } from '../../src/model/index.ts'
import { answerCalls } from '../../src/threads/index.ts'

const started: string[] = []
const kept: unknown[] = []
const parts = {
  thread: { close: () => Promise.resolve() },
  sample: {
    /** Notes a text, and answers a turn later with all texts so far. */
    note: async (text: string): Promise<readonly string[]> => {
      started.push(text)
      await new Promise(setImmediate)
      return [...started]
    },
    refuse: (): Promise<never> => {
      const cause = Object.assign(new Error('no entry'), { code: 'ENOENT' })
      throw new EvrouteError({ code: 'store_closed', message: 'Cannot answer', cause })
    },
    tell: (notice: string): Promise<void> => {
      tell(notice)
      return Promise.resolve()
    },
    wait: (): Promise<never> => new Promise(() => undefined),
    /** Throws in a later turn, where no call can catch the error. */
    fail: (): Promise<never> => {
      setImmediate(() => {
        throw new Error('broken')
      })
      return new Promise(() => undefined)
    },
    exhaustMemory: (): Promise<never> => {
      for (;;) kept.push(Array.from({ length: 1_000 }, (_, index) => `${index}`))
    },
  },
}
if (parentPort === null) throw new Error('this is the program of a thread')
const tell: (notice: string) => void = answerCalls(parentPort, {
  parts,
  later: (send) => process.nextTick(send),
})

/** The objects whose methods can be called from another thread. */
export type SampleParts = typeof parts
