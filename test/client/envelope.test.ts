import { expect, test } from 'vitest'
import { encodeEnvelope, envelopeBytes } from '../../src/client/envelope.ts'
import { encodedCall, startMs } from './support.ts'

test('encodeEnvelope puts serialised calls into the body of a batch request', () => {
  const calls = [encodedCall('a'), encodedCall('b')]
  expect(encodeEnvelope({ calls, sentAtMs: startMs, writeKey: 'wk_"ä' })).toBe(
    '{"batch":[{"messageId":"a"},{"messageId":"b"}],' +
      '"sentAt":"2026-01-02T03:04:05.678Z","writeKey":"wk_\\"ä"}',
  )
})

test('envelopeBytes is the size of a body without calls', () => {
  const body = encodeEnvelope({ calls: [], sentAtMs: startMs, writeKey: 'wk_ä' })
  expect(envelopeBytes('wk_ä')).toBe(Buffer.byteLength(body))
})
