import { describe, expect, test } from 'vitest'
import { passedOnHeaders, type Header } from '../../src/http/index.ts'

describe('passedOnHeaders', () => {
  test('keeps what belongs to the request, as it is spelled and as often as it is there', () => {
    const headers: readonly Header[] = [
      ['Content-Type', 'application/json'],
      ['X-Signature', 'f'],
      ['x-team', 'a'],
      ['X-Team', 'b'],
    ]
    expect(passedOnHeaders(headers)).toEqual(headers)
  })

  test.each([
    'Host',
    'content-length',
    'Connection',
    'Keep-Alive',
    'Proxy-Authorization',
    'TE',
    'Trailer',
    'Transfer-Encoding',
    'Upgrade',
    'Expect',
  ])('leaves %s out, which is about the connection', (name) => {
    expect(passedOnHeaders([[name, 'x']])).toEqual([])
  })

  test('leaves out what Connection names', () => {
    const headers: readonly Header[] = [
      ['X-Hop', '1'],
      ['X-End', '2'],
      ['connection', 'close, x-hop'],
    ]
    expect(passedOnHeaders(headers)).toEqual([['X-End', '2']])
  })
})
