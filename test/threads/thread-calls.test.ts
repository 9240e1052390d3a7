import { EventEmitter } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { EvrouteError } from '../../src/model/index.ts'
import { ThreadCalls } from '../../src/threads/index.ts'
import type { SampleParts } from './sample-thread.ts'

/** Starts a thread, and records its notices and its deaths. */
function start() {
  const notices: string[] = []
  const deaths: Error[] = []
  const program = new URL('sample-thread.ts', import.meta.url)
  const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: 64 } })
  const calls = new ThreadCalls<SampleParts, string>(worker, {
    onNotice: (notice) => notices.push(notice),
    closedError: () => new Error('closed'),
    deathError: (end, cause) => {
      const death = new Error(`the thread ${end}`, { cause })
      deaths.push(death)
      return death
    },
  })
  onTestFinished(() => calls.close())
  return { worker, calls, notices, deaths }
}

test('calls start in order, and each gets its answer', async () => {
  const { calls } = start()
  const note = calls.method('sample', 'note')
  const answers = await Promise.all(['a', 'b', 'c'].map((text) => note(text)))
  expect(answers).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ])
})

test('an error that a method throws arrives with its code and its cause', async () => {
  const { calls } = start()
  const refused = calls.method('sample', 'refuse')()
  await expect(refused).rejects.toBeInstanceOf(EvrouteError)
  await expect(refused).rejects.toMatchObject({
    code: 'store_closed',
    cause: { message: 'no entry', code: 'ENOENT' },
  })
})

test('a notice arrives before a later answer', async () => {
  const { calls, notices } = start()
  await calls.method('sample', 'tell')('half done')
  expect(notices).toEqual(['half done'])
})

test.each([
  ['fail', 'the thread has failed: broken'],
  ['exhaustMemory', 'the thread has failed: Worker terminated due to reaching memory limit'],
] as const)('a thread that ends by %s fails all calls with one error', async (method, message) => {
  const { worker, calls, deaths } = start()
  const pending = [calls.method('sample', 'wait')(), calls.method('sample', method)()]
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  const reasons = await Promise.all(pending.map((call) => call.catch((error: unknown) => error)))
  await ended
  expect(deaths).toHaveLength(1)
  expect(deaths[0]?.message).toContain(message)
  expect(reasons).toEqual([deaths[0], deaths[0]])
  await expect(calls.method('sample', 'wait')()).rejects.toBe(deaths[0])
  expect(deaths).toHaveLength(1)
  expect(calls.hasEnded).toBe(true)
})

test('a call of an unknown method is rejected', async () => {
  const { calls } = start()
  const unknown = calls.method('sample', 'missing' as 'note')
  await expect(unknown('a')).rejects.toThrow('This thread has no sample.missing')
})

test('closing a thread rejects its pending calls with closedError', async () => {
  const { calls, deaths } = start()
  const waiting = calls
    .method('sample', 'wait')()
    .catch((error: unknown) => error)
  await calls.close()
  expect(await waiting).toEqual(new Error('closed'))
  expect(deaths).toEqual([])
})

test('a closed thread has ended, and rejects calls', async () => {
  const { worker, calls } = start()
  const noted = calls.method('sample', 'note')('a')
  const closed = calls.close()
  expect(calls.close()).toBe(closed)
  await expect(calls.method('sample', 'note')('b')).rejects.toThrow('closed')
  await closed
  expect(worker.threadId).toBe(-1)
  await noted.catch(() => undefined)
})

test('a thread that ends while it closes is closed', async () => {
  const { worker, calls, deaths } = start()
  const closed = calls.close()
  void worker.terminate()
  await closed
  expect(deaths).toEqual([])
})

/** A thread that never answers and never ends, as if it hung in a system call. */
class HangingThread extends EventEmitter {
  isHeld = true
  postMessage(): void {
    return undefined
  }
  ref(): void {
    this.isHeld = true
  }
  unref(): void {
    this.isHeld = false
  }
  terminate(): Promise<never> {
    this.ref()
    return new Promise(() => undefined)
  }
}

function startHanging() {
  const thread = new HangingThread()
  const abandoning = new AbortController()
  const calls = new ThreadCalls<SampleParts, string>(thread, {
    onNotice: () => undefined,
    closedError: () => new Error('closed'),
    deathError: (end) => new Error(`the thread ${end}`),
    abandoned: abandoning.signal,
  })
  return { thread, calls, abandon: () => abandoning.abort() }
}

test('an abandoned thread fails all calls, and neither close() nor the process waits for it', async () => {
  const { thread, calls, abandon } = startHanging()
  const pending = calls.method('sample', 'wait')()
  abandon()
  await expect(pending).rejects.toThrow('the thread does not answer')
  await expect(calls.method('sample', 'wait')()).rejects.toThrow('the thread does not answer')
  await calls.close()
  expect(thread.isHeld).toBe(false)
})

test('a thread that is abandoned while it closes is not waited for', async () => {
  const { thread, calls, abandon } = startHanging()
  const closed = calls.close()
  await new Promise(setImmediate)
  abandon()
  await closed
  expect(thread.isHeld).toBe(false)
})
