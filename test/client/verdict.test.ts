import { describe, expect, test } from 'vitest'
import { verdict } from '../../src/client/verdict.ts'
import { startMs } from './support.ts'

function judge(status: number, body: unknown = '', retryAfter?: string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return verdict({ status, retryAfter, text, isWhole: true }, startMs)
}

const unexplained = { code: 'rejected', message: 'The endpoint rejected this call' }

describe('verdict', () => {
  test('covers every status', () => {
    const kinds = new Map<string, number[]>()
    for (let status = 200; status < 600; status++) {
      const { kind } = judge(status)
      kinds.set(kind, [...(kinds.get(kind) ?? []), status])
    }
    const range = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index)
    const retried = [408, 429, ...range(500, 599).filter((status) => ![501, 505].includes(status))]
    expect(kinds.get('accepted')).toEqual(range(200, 299))
    expect(kinds.get('retry')).toEqual(retried)
    expect(kinds.get('too_large')).toEqual([413])
    expect(kinds.get('refused')).toEqual(
      [...range(300, 499), 501, 505].filter((status) => ![408, 413, 429].includes(status)),
    )
  })

  test('reads Retry-After as seconds or as a date for every retryable status', () => {
    expect(judge(429, '', '7')).toMatchObject({ kind: 'retry', afterMs: 7_000 })
    expect(judge(503, '', 'Fri, 02 Jan 2026 03:05:00 GMT')).toMatchObject({ afterMs: 54_322 })
    expect(judge(429, '', 'soon')).toEqual({ kind: 'retry', reason: 'The endpoint answered 429' })
    expect(judge(429)).toMatchObject({ kind: 'retry', afterMs: undefined })
  })

  test.each([
    ['the code of the tracking API', { code: 'batch_too_large', message: 'too big' }],
    ['a single call over the limit', { code: 'event_too_large', message: 'too big' }],
    ['a plain text', 'Exceed payload limit'],
    ['a message', { message: 'request size exceeds max limit' }],
    ['an error', { error: 'Payload Too Large' }],
  ])('treats 400 as too large: %s', (_name, body) => {
    expect(judge(400, body).kind).toBe('too_large')
  })

  test('prefers the error code to the message', () => {
    const body = { code: 'invalid_batch', message: 'event 3 is too large to be true' }
    expect(judge(400, body)).toEqual({
      kind: 'refused',
      code: 'invalid_batch',
      message: 'The endpoint answered 400: event 3 is too large to be true',
    })
  })

  test('does not treat other refusals as too large', () => {
    expect(judge(403, 'Exceed payload limit').kind).toBe('refused')
  })

  test('names the status if the answer has no code', () => {
    expect(judge(404, '<html>')).toEqual({
      kind: 'refused',
      code: 'http_404',
      message: 'The endpoint answered 404',
    })
    expect(judge(401, { error: 'Unknown key' })).toMatchObject({
      message: 'The endpoint answered 401: Unknown key',
    })
    expect(judge(401, '[]')).toMatchObject({ code: 'http_401' })
    expect(judge(301, '')).toMatchObject({
      code: 'http_301',
      message: 'The endpoint answered 301: it redirects; pass the URL that it redirects to',
    })
    expect(judge(304, '')).toMatchObject({ message: 'The endpoint answered 304' })
  })

  test('keeps 300 characters of an answer', () => {
    const { message } = judge(401, { message: 'x'.repeat(10_000) }) as { message: string }
    expect(message).toBe(`The endpoint answered 401: ${'x'.repeat(300)}`)
  })

  test('lists the rejected calls of an accepted batch', () => {
    const rejected = [
      { index: 1, messageId: 'm-2', code: 'no_event', message: 'track needs an event' },
      { index: 3 },
      { index: '4', messageId: 'm-5' },
      { index: null },
      'nonsense',
    ]
    expect(judge(200, { success: true, rejected })).toEqual({
      kind: 'accepted',
      rejected: [
        { index: 1, messageId: 'm-2', code: 'no_event', message: 'track needs an event' },
        { index: 3, ...unexplained },
        { index: undefined, messageId: 'm-5', ...unexplained },
        { index: undefined, ...unexplained },
      ],
    })
  })

  test('asks for a retry after a 2xx whose body was cut off', () => {
    const answer = { retryAfter: undefined, text: '{"rejected":[', isWhole: false }
    expect(verdict({ ...answer, status: 200 }, startMs)).toEqual({
      kind: 'retry',
      reason: 'The endpoint answered 200, but its answer was incomplete',
    })
    expect(verdict({ ...answer, status: 401 }, startMs)).toMatchObject({ kind: 'refused' })
  })

  test.each(['', 'ok', '{"success":true}', '{"rejected":null}', '{"rejected":['])(
    'accepts 200 with the body %j',
    (body) => {
      expect(judge(200, body)).toEqual({ kind: 'accepted', rejected: [] })
    },
  )
})
