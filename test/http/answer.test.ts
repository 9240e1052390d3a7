import { describe, expect, test } from 'vitest'
import { headerValue, readAnswer } from '../../src/http/index.ts'

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
