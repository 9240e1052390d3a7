import { describe, expect, test } from 'vitest'
import { AddressRefusedError } from '../../src/model/index.ts'
import { failureOutcome, judge } from '../../src/webhook/index.ts'

describe('judge', () => {
  test.each([
    { statuses: [200, 201, 202, 204, 226, 299], verdict: 'success' },
    { statuses: [300, 301, 302, 304, 307, 308], verdict: 'final' },
    {
      statuses: [400, 401, 403, 404, 405, 409, 410, 413, 422, 424, 426, 428, 430],
      verdict: 'final',
    },
    { statuses: [408, 425, 429], verdict: 'retry' },
    { statuses: [500, 501, 502, 503, 504, 505, 521, 599], verdict: 'retry' },
    { statuses: [600, 999], verdict: 'final' },
  ] as const)('treats $statuses as $verdict', ({ statuses, verdict }) => {
    for (const status of statuses) {
      const error = verdict === 'success' ? null : `status_${status}`
      const outcome = { kind: 'answered', status, retryAfter: undefined, excerpt: '' } as const
      expect(judge(outcome)).toEqual({ verdict, status, error })
    }
  })

  test.each([
    { outcome: { kind: 'timeout' }, verdict: 'retry', error: 'timeout' },
    { outcome: { kind: 'interrupted' }, verdict: 'retry', error: 'interrupted' },
    {
      outcome: { kind: 'connection_failed', code: 'ECONNRESET', message: 'socket hang up' },
      verdict: 'retry',
      error: 'ECONNRESET',
    },
    {
      outcome: { kind: 'certificate_refused', code: 'CERT_HAS_EXPIRED', message: 'expired' },
      verdict: 'final',
      error: 'CERT_HAS_EXPIRED',
    },
    {
      outcome: { kind: 'address_refused', code: 'private_address', message: 'refused' },
      verdict: 'final',
      error: 'private_address',
    },
  ] as const)('treats $outcome.kind as $verdict', ({ outcome, verdict, error }) => {
    expect(judge(outcome)).toEqual({ verdict, status: null, error })
  })
})

describe('failureOutcome', () => {
  const failure = (code: string): Error => Object.assign(new Error('went wrong'), { code })
  const message = 'went wrong'

  test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER'])(
    'treats %s as a failed connection',
    (code) => {
      expect(failureOutcome(failure(code))).toEqual({ kind: 'connection_failed', code, message })
    },
  )

  test.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'CERT_REVOKED',
    'UNSPECIFIED',
  ])('treats %s as a refused certificate', (code) => {
    expect(failureOutcome(failure(code))).toEqual({ kind: 'certificate_refused', code, message })
  })

  test('recognises a refused address, whatever its kind', () => {
    const refusal = { code: 'private_address', message: 'Cannot send to 10.0.0.5' } as const
    expect(failureOutcome(new AddressRefusedError(refusal))).toEqual({
      kind: 'address_refused',
      ...refusal,
    })
  })

  test.each([
    { thrown: new Error('no code'), message: 'no code' },
    { thrown: 'a text', message: 'a text' },
    { thrown: null, message: 'null' },
  ])('treats an error without a code as a failed connection: $message', ({ thrown, message }) => {
    expect(failureOutcome(thrown)).toEqual({
      kind: 'connection_failed',
      code: 'connection_failed',
      message,
    })
  })
})

describe('a local shortage', () => {
  const errorOf = (code: string, address = '127.0.0.1'): Error =>
    Object.assign(new Error(code), { code, address })

  test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', 'EAI_MEMORY'])(
    'is reported for the system error %s',
    (code) => {
      const outcome = failureOutcome(errorOf(code))
      expect(outcome).toEqual({ kind: 'shortage', code, message: code })
      expect(judge(outcome)).toEqual({ verdict: 'retry', status: null, error: code })
    },
  )

  test('is reported only if all tried addresses failed for that reason', () => {
    const all = [errorOf('EMFILE'), errorOf('EMFILE', '::1')]
    expect(failureOutcome(Object.assign(new AggregateError(all), { code: 'EMFILE' })).kind).toBe(
      'shortage',
    )
    const some = [errorOf('EADDRNOTAVAIL'), errorOf('ECONNREFUSED')]
    expect(
      failureOutcome(Object.assign(new AggregateError(some), { code: 'EADDRNOTAVAIL' })).kind,
    ).toBe('connection_failed')
  })

  test('is not reported for a machine without IPv6', () => {
    const outcome = failureOutcome(errorOf('EADDRNOTAVAIL', '2a00::1'))
    expect(outcome.kind).toBe('connection_failed')
  })
})
