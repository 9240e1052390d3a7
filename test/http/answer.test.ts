import { once } from 'node:events'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  AnswerHandler,
  headerValue,
  listen,
  readAnswer,
  type Answer,
} from '../../src/http/index.ts'

const limits = { readBytesMax: 10, keptBytesMax: 4 }

/** Gets an answer whose body is sent by `write`. */
async function answered(write: (response: ServerResponse) => void): Promise<Answer> {
  const listening = await listen((_, response) => write(response), { host: '127.0.0.1', port: 0 })
  onTestFinished(() => listening.close(0))
  const [response] = (await once(get(listening.url), 'response')) as [IncomingMessage]
  return readAnswer(response, limits)
}

describe('readAnswer', () => {
  test('keeps the beginning of an answer and reads the rest', async () => {
    const answer = await answered((response) => {
      response.writeHead(503, { 'retry-after': '2' })
      for (const part of ['ab', 'cdef', 'gh']) response.write(part)
      response.end()
    })
    expect(answer).toEqual({ status: 503, retryAfter: '2', text: 'abcd', isWhole: true })
  })

  test('aborts on an answer that is too long', async () => {
    const answer = await answered((response) => {
      for (const part of ['abcdef', 'ghijkl']) response.write(part)
    })
    expect(answer).toEqual({ status: 200, retryAfter: undefined, text: 'abcd', isWhole: false })
  })

  test('keeps the part of an answer that arrived before it was cut off', async () => {
    const answer = await answered((response) => {
      response.write('ab', () => response.destroy())
    })
    expect(answer).toMatchObject({ text: 'ab', isWhole: false })
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
