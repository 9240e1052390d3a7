import { describe, expect, test } from 'vitest'
import { AnswerHandler, headerValue, readAnswer, type Answer } from '../../src/http/index.ts'

const limits = { readBytesMax: 10, keptBytesMax: 4 }

describe('readAnswer', () => {
  test('keeps the beginning of an answer and reads the rest', async () => {
    const body = new Body(['ab', 'cdef', 'gh'])
    expect(await readAnswer(body, limits)).toEqual({ text: 'abcd', isWhole: true })
    expect(body.chunksRead).toBe(3)
  })

  test('aborts on an answer that is too long', async () => {
    const body = new Body(['abcdef', 'ghijkl', 'never read'])
    expect(await readAnswer(body, limits)).toEqual({ text: 'abcd', isWhole: false })
    expect(body.chunksRead).toBe(2)
    expect(body.wasLeft).toBe(true)
  })

  test('keeps the part of an answer that arrived before it was cut off', async () => {
    const body = new Body(['ab', new Error('reset')])
    expect(await readAnswer(body, limits)).toEqual({ text: 'ab', isWhole: false })
  })
})

/** Simulates undici, which reports an error to the handler as soon as its request is aborted. */
function dispatched() {
  const outcomes: (Answer | Error)[] = []
  const record = (outcome: Answer | Error) => outcomes.push(outcome)
  const handler = new AnswerHandler(limits, { answered: record, failed: record })
  const reasons: Error[] = []
  const controller = {
    abort: (error: Error) => {
      reasons.push(error)
      handler.onResponseError(controller, error)
    },
  }
  return { handler, controller, outcomes, reasons }
}

describe('AnswerHandler', () => {
  test('collects the beginning of an answer, and skips interim answers', () => {
    const { handler, controller, outcomes } = dispatched()
    handler.onResponseStart(controller, 103, { 'retry-after': '1' })
    handler.onResponseStart(controller, 429, { 'retry-after': ['2', '3'] })
    for (const chunk of ['ab', 'cde', 'fg']) {
      handler.onResponseData(controller, Buffer.from(chunk))
    }
    handler.onResponseEnd()
    expect(outcomes).toEqual([{ status: 429, retryAfter: '2', text: 'abcd', isWhole: true }])
  })

  test('aborts on an answer that is too long', () => {
    const { handler, controller, outcomes, reasons } = dispatched()
    handler.onResponseStart(controller, 200, {})
    handler.onResponseData(controller, Buffer.from('abcdefghijk'))
    expect(reasons).toHaveLength(1)
    expect(outcomes).toEqual([{ status: 200, retryAfter: undefined, text: 'abcd', isWhole: false }])
  })
})

describe('headerValue', () => {
  test.each([
    ['one', 'one'],
    [['one', 'two'], 'one'],
    [undefined, undefined],
  ])('reads %o as %o', (header, value) => {
    expect(headerValue(header)).toBe(value)
  })
})

class Body implements AsyncIterable<Uint8Array> {
  readonly #chunks: readonly (string | Error)[]
  chunksRead = 0
  wasLeft = false

  constructor(chunks: readonly (string | Error)[]) {
    this.#chunks = chunks
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (const chunk of this.#chunks) {
        if (chunk instanceof Error) throw await Promise.resolve(chunk)
        this.chunksRead++
        yield Buffer.from(chunk)
      }
    } finally {
      this.wasLeft = true
    }
  }
}
