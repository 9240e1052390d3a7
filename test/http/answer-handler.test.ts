import { describe, expect, test } from 'vitest'
import { AnswerHandler, type Answer } from '../../src/http/index.ts'

const limits = { readBytesMax: 10, keptBytesMax: 4 }
const reason = new Error('time is up')

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
    handler.onRequestStart(controller)
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
    handler.onRequestStart(controller)
    handler.onResponseStart(controller, 200, {})
    handler.onResponseData(controller, Buffer.from('abcdefghijk'))
    expect(reasons).toHaveLength(1)
    expect(outcomes).toEqual([{ status: 200, retryAfter: undefined, text: 'abcd', isWhole: false }])
  })

  test('aborts a request in progress', () => {
    const { handler, controller, outcomes, reasons } = dispatched()
    handler.onRequestStart(controller)
    handler.abort(reason)
    expect(reasons).toEqual([reason])
    expect(outcomes).toEqual([reason])
  })

  test('if a request is aborted before it has a connection, ends it at once, and aborts the connection later', () => {
    const { handler, controller, outcomes, reasons } = dispatched()
    handler.abort(reason)
    expect(outcomes).toEqual([reason])
    handler.onRequestStart(controller)
    expect(reasons).toEqual([reason])
  })
})
