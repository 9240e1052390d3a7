import { describe, expect, test } from 'vitest'
import { passedOnHeaders, type Header } from '../../src/http/index.ts'

describe('passedOnHeaders', () => {
  test('keeps headers of the request with their spelling and repetitions', () => {
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
  ])('drops %s, which belongs to the connection', (name) => {
    expect(passedOnHeaders([[name, 'x']])).toEqual([])
  })

  test('drops the headers that Connection names', () => {
    const headers: readonly Header[] = [
      ['X-Hop', '1'],
      ['X-End', '2'],
      ['connection', 'close, x-hop'],
    ]
    expect(passedOnHeaders(headers)).toEqual([['X-End', '2']])
  })
})
