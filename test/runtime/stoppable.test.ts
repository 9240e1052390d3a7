import { describe, expect, test } from 'vitest'
import { stoppable, stoppableStream } from '../../src/runtime/index.ts'

describe('stoppable', () => {
  test('returns the result of the work, or throws its error', async () => {
    const { signal } = new AbortController()
    expect(await stoppable(Promise.resolve(1), signal)).toBe(1)
    await expect(stoppable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
  })

  test('does not wait if the signal is already aborted', async () => {
    expect(await stoppable(new Promise(() => undefined), AbortSignal.abort())).toBeUndefined()
  })
})

describe('stoppableStream', () => {
  async function* waitingFor(next: Promise<unknown>, ended: () => void): AsyncGenerator {
    try {
      yield 1
      yield await next
    } finally {
      ended()
    }
  }

  test('yields the values of the iteration, and closes it when it is left early', async () => {
    const { signal } = new AbortController()
    let isClosed = false
    const stream = stoppableStream(
      waitingFor(Promise.resolve(2), () => (isClosed = true)),
      signal,
    )
    expect(await stream.next()).toEqual({ done: false, value: 1 })
    expect(await stream.next()).toEqual({ done: false, value: 2 })
    await stream.return(undefined)
    expect(isClosed).toBe(true)
  })

  test('throws the reason of the abort even while the iteration waits for ever', async () => {
    const stop = new AbortController()
    const never = new Promise(() => undefined)
    const stream = stoppableStream(
      waitingFor(never, () => undefined),
      stop.signal,
    )
    await stream.next()
    const next = stream.next()
    stop.abort(new Error('ends'))
    await expect(next).rejects.toThrow('ends')
  })
})
