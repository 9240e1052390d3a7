import { describe, expect, test } from 'vitest'
import { createRuntime } from '../../src/runtime/index.ts'
import { post, secret, signed, start, trackBody, WatchedClock } from './requests.ts'

const errorOf = (code: string): object => ({ error: { code } })

describe('a well-formed webhook', () => {
  test.each([
    [201, { ok: true }],
    [204, undefined],
    [
      503,
      { error: { code: 'configured_status', message: 'The receiver is configured to answer 503' } },
    ],
  ])('is answered %i when the receiver is set to that status', async (status, body) => {
    const { receiver, url } = await start({ respond: status })
    expect(await post(url, trackBody)).toMatchObject({ status, body })
    expect(receiver.events[0]).toMatchObject({ kind: 'webhook', status })
  })

  test('is answered after the configured delay', async () => {
    const clock = new WatchedClock(1_000)
    const { receiver, url } = await start({ delayMs: 250, runtime: createRuntime({ clock }) })
    const delayed = clock.scheduled(250)
    const replying = post(url, trackBody)
    await delayed
    expect(receiver.counts.received).toBe(0)
    await clock.advance(250)
    expect((await replying).status).toBe(200)
    expect(receiver.events[0]).toMatchObject({ atMs: 1_000, durationMs: 250 })
  })
})

describe('a signature', () => {
  test.each([
    ['valid', signed(trackBody), /^null$/],
    ['missing', {}, /^The request has no X-Signature header$/],
    ['missing', { 'x-signature': '' }, /^X-Signature is empty$/],
    ['invalid', { 'x-signature': 'A'.repeat(40) }, /upper-case/],
    ['invalid', signed(trackBody, 'another'), /different secret/],
    ['invalid', signed(`${trackBody}\n`), /line break/],
  ])('that is %s does not change the status 200 by default', async (signature, headers, reason) => {
    const { receiver, url } = await start({ secret })
    expect((await post(url, trackBody, headers)).status).toBe(200)
    expect(receiver.events[0]).toMatchObject({ signature, status: 200 })
    expect(String(receiver.events[0]?.reason)).toMatch(reason)
  })

  test.each([
    { signature: 'valid', headers: signed(trackBody), status: 200, body: { ok: true } },
    { signature: 'missing', headers: {}, status: 401, body: errorOf('signature_missing') },
    {
      signature: 'invalid',
      headers: signed('{}'),
      status: 401,
      body: errorOf('signature_invalid'),
    },
  ])('that is $signature is answered $status in strict mode', async (expected) => {
    const { signature, headers, status, body } = expected
    const { receiver, url } = await start({ secret, strict: true })
    expect(await post(url, trackBody, headers)).toMatchObject({ status, body })
    expect(receiver.events[0]).toMatchObject({ signature, status, kind: 'webhook' })
  })

  test('is checked before the body in strict mode', async () => {
    const { receiver, url } = await start({ secret, strict: true })
    expect((await post(url, 'nonsense')).status).toBe(401)
    const [event] = receiver.events
    expect(event).toMatchObject({ kind: 'malformed', code: 'invalid_json' })
    expect(event?.reason).toMatch(
      /^The body is not JSON.*\. The request has no X-Signature header$/,
    )
  })

  test('is not checked without a secret', async () => {
    const { receiver, url } = await start()
    await post(url, trackBody, { 'x-signature': 'whatever' })
    expect(receiver.events[0]).toMatchObject({ signature: 'unchecked', reason: null })
    expect(receiver.counts).toMatchObject({ received: 1, valid: 0, invalid: 0, missing: 0 })
  })

  test('is computed with the UTF-8 bytes of the secret', async () => {
    const { receiver, url } = await start({ secret: 'schlüssel 🔑' })
    await post(url, trackBody, signed(trackBody, 'schlüssel 🔑'))
    expect(receiver.events[0]?.signature).toBe('valid')
  })
})
