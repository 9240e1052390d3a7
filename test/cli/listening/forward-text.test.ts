import { describe, expect, test } from 'vitest'
import { checkAdvice, forwardLines, resentText } from '../../../src/cli/listening/event-text.ts'

const url = 'http://127.0.0.1:3000/hook'
const well = { url, status: 204, error: null, durationMs: 5_000, headers: {}, answer: '' }

describe('forwardLines', () => {
  test('is empty if nothing was forwarded, or all is well', () => {
    expect(forwardLines(null)).toEqual([])
    expect(forwardLines(well)).toEqual([])
  })

  test('says that a sender would have given up', () => {
    expect(forwardLines({ ...well, durationMs: 8_200 })).toEqual([
      'the answer took 8.2s, but senders give up after 5s',
    ])
    expect(forwardLines({ ...well, status: 500, durationMs: 5_001 })).toEqual([
      `${url} answered 500`,
      'the answer took 5s, but senders give up after 5s',
    ])
  })

  test('gives advice', () => {
    const failed = { ...well, status: null }
    expect(forwardLines({ ...failed, error: 'ECONNREFUSED' })).toEqual([
      `cannot forward to ${url}: connection refused (ECONNREFUSED); nothing is listening there`,
    ])
    expect(forwardLines({ ...failed, error: 'timeout' })).toEqual([
      `cannot forward to ${url}: no answer in time (timeout); to wait without a limit, pass --forward-timeout 0`,
    ])
    expect(forwardLines({ ...failed, error: 'ECONNRESET' })).toEqual([
      `cannot forward to ${url}: the connection was reset (ECONNRESET)`,
    ])
  })
})

describe('checkAdvice', () => {
  test.each([400, 401, 403])(
    'names the command where a valid signature is answered %i',
    (status) => {
      expect(
        checkAdvice({ signature: 'valid', forward: { ...well, status } }, 'npx evroute'),
      ).toEqual([
        `the signature is valid: run \`npx evroute check ${url} --secret ...\` to find out why it was refused`,
      ])
    },
  )

  test('says nothing about everything else', () => {
    const refused = { ...well, status: 401 }
    expect(checkAdvice({ signature: 'invalid', forward: refused }, 'npx evroute')).toEqual([])
    expect(checkAdvice({ signature: 'unchecked', forward: refused }, 'npx evroute')).toEqual([])
    expect(checkAdvice({ signature: 'valid', forward: null }, 'npx evroute')).toEqual([])
    expect(checkAdvice({ signature: 'valid', forward: well }, 'npx evroute')).toEqual([])
    expect(
      checkAdvice({ signature: 'valid', forward: { ...well, status: 500 } }, 'npx evroute'),
    ).toEqual([])
  })
})

describe('resentText', () => {
  test('shows the answer, or why there was none', () => {
    expect(resentText(well)).toBe(`${url} answered 204 in 5s`)
    expect(resentText({ ...well, status: 500, answer: '\r\n  no\nmore' })).toBe(
      `${url} answered 500: no`,
    )
    expect(resentText(undefined)).toBe('no --forward-to accepts this type')
  })
})
