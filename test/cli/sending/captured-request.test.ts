import { describe, expect, test } from 'vitest'
import { readCapturedRequest } from '../../../src/cli/sending/captured-request.ts'

const body = '{"type":"track","userId":"u_1","event":"é","messageId":"m_1"}'
const row = {
  v: 1,
  kind: 'event',
  type: 'track',
  userId: 'u_1',
  code: null,
  reason: null,
  headers: { 'x-signature': 'f', 'x-team': 'caf\u00e9' },
  rawBase64: Buffer.from(body).toString('base64'),
}

describe('readCapturedRequest', () => {
  test('reads a captured request: type, ids, headers and body', () => {
    expect(readCapturedRequest(row)).toEqual({
      kind: 'request',
      request: { type: 'track', userId: 'u_1', messageId: 'm_1', headers: row.headers, body },
    })
  })

  test('keeps a byte order mark, and requires no ids', () => {
    const marked = `\ufeff${JSON.stringify({ type: 'identify', messageId: '' })}`
    const rawBase64 = Buffer.from(marked).toString('base64')
    expect(readCapturedRequest({ ...row, userId: null, rawBase64 })).toMatchObject({
      request: { userId: null, messageId: null, body: marked },
    })
  })

  test.each([
    [
      { type: null, code: 'invalid_json', reason: 'Broken' },
      'invalid_json',
      /not a webhook: Broken$/,
    ],
    [{ type: null, code: 'body_too_large', reason: null }, 'unknown_type', /not a webhook$/],
    [{ type: 'click' }, 'unknown_type', /not a webhook$/],
    [{ rawBase64: 'not base64' }, 'wrong_type', /rawBase64/],
    [{ rawBase64: 5 }, 'wrong_type', /rawBase64/],
    [{ rawBase64: '6Q==' }, 'wrong_type', /rawBase64/],
    [{ rawBase64: 'bm9wZQ==' }, 'not_an_object', /not a JSON object/],
    [{ headers: null }, 'wrong_type', /headers/],
    [{ headers: { a: 5 } }, 'wrong_type', /headers/],
    [{ headers: { a: 'b\r\nc: d' } }, 'wrong_type', /headers/],
    [{ headers: { 'a b': 'c' } }, 'wrong_type', /headers/],
  ])('rejects %j as %s', (changes, code, message) => {
    expect(readCapturedRequest({ ...row, ...changes })).toMatchObject({
      kind: 'rejected',
      code,
      message: expect.stringMatching(message) as string,
    })
  })
})
